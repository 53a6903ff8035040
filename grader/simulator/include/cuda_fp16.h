// __half and __half2: IEEE half precision, with NVIDIA's names (cuda_fp16.h).
#pragma once

#include "onepass_simulator/narrow_conversions.h"

#define NARROW __half
#define NARROW2 __half2
#define NARROW_RAW __half_raw
#define NARROW2_RAW __half2_raw
#define NARROW_FORMAT simulator::HalfFormat
#define NARROW_OTHER __nv_bfloat16
#include "onepass_simulator/narrow_class.inc"

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;

namespace simulator {
/// A double rounded once to a 16-bit type, in the given direction.
template <typename Narrow>
Narrow rounded(double x, Rounding rounding);
template <>
inline __half rounded<__half>(double x, Rounding rounding) {
  return __half_raw{HalfFormat::from_float(to_odd_float(x), rounding)};
}
}  // namespace simulator

#include "onepass_simulator/narrow_arithmetic.inc"
ONEPASS_NARROW_CONVERSIONS(__half, __half_raw, half)
ONEPASS_PAIR_CONVERSIONS(__half, __half2, half)

#undef NARROW
#undef NARROW2
#undef NARROW_RAW
#undef NARROW2_RAW
#undef NARROW_FORMAT
#undef NARROW_OTHER

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)

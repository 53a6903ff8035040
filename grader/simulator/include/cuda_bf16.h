// __nv_bfloat16 and __nv_bfloat162: the upper half of a float, with NVIDIA's names (cuda_bf16.h).
#pragma once

#include "cuda_fp16.h"

#define NARROW __nv_bfloat16
#define NARROW2 __nv_bfloat162
#define NARROW_RAW __nv_bfloat16_raw
#define NARROW2_RAW __nv_bfloat162_raw
#define NARROW_FORMAT simulator::Bfloat16Format
#define NARROW_OTHER __half
#include "onepass_simulator/narrow_class.inc"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __half::__half(__nv_bfloat16 x) : __half(static_cast<float>(x)) {}
inline __nv_bfloat16::__nv_bfloat16(__half x) : __nv_bfloat16(static_cast<float>(x)) {}

namespace simulator {
template <>
inline __nv_bfloat16 rounded<__nv_bfloat16>(double x, Rounding rounding) {
  return __nv_bfloat16_raw{Bfloat16Format::from_float(to_odd_float(x), rounding)};
}
}  // namespace simulator

#include "onepass_simulator/narrow_arithmetic.inc"
ONEPASS_NARROW_CONVERSIONS(__nv_bfloat16, __nv_bfloat16_raw, bfloat16)
ONEPASS_PAIR_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)

#undef NARROW
#undef NARROW2
#undef NARROW_RAW
#undef NARROW2_RAW
#undef NARROW_FORMAT
#undef NARROW_OTHER

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)

// __nv_fp8_e4m3 and __nv_fp8_e5m2: floating point in 8 bits, with NVIDIA's names (cuda_fp8.h).
// e8m0, which is an exponent only, is not simulated.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "onepass_simulator/fp8_formats.h"

// ---- One number

#define ONEPASS_TO_FP8(name, T, bits)                                       \
  __forceinline__ __nv_fp8_storage_t name(T x, __nv_saturation_t saturate,  \
                                          __nv_fp8_interpretation_t kind) { \
    return bits;                                                            \
  }
ONEPASS_TO_FP8(__nv_cvt_double_to_fp8, double, simulator::fp8_bits(x, saturate, kind))
ONEPASS_TO_FP8(__nv_cvt_float_to_fp8, float, simulator::fp8_bits_of_float(x, saturate, kind))
ONEPASS_TO_FP8(__nv_cvt_halfraw_to_fp8, __half_raw,
               simulator::fp8_bits_of_float(__half(x), saturate, kind))
ONEPASS_TO_FP8(__nv_cvt_bfloat16raw_to_fp8, __nv_bfloat16_raw,
               simulator::fp8_bits_of_float(__nv_bfloat16(x), saturate, kind))
#undef ONEPASS_TO_FP8
ONEPASS_INTRINSIC(__half_raw, __nv_cvt_fp8_to_halfraw,
                  (__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind),
                  __half(simulator::fp8_value(x, kind)))

// ---- Two: x is the lower byte

#define ONEPASS_TO_FP8X2(name, T, Part, of_one)                                       \
  __forceinline__ __nv_fp8x2_storage_t name(T v, __nv_saturation_t saturate,          \
                                            __nv_fp8_interpretation_t kind) {         \
    return static_cast<__nv_fp8x2_storage_t>(of_one(Part{v.x}, saturate, kind) |      \
                                             of_one(Part{v.y}, saturate, kind) << 8); \
  }
ONEPASS_TO_FP8X2(__nv_cvt_double2_to_fp8x2, double2, double, __nv_cvt_double_to_fp8)
ONEPASS_TO_FP8X2(__nv_cvt_float2_to_fp8x2, float2, float, __nv_cvt_float_to_fp8)
ONEPASS_TO_FP8X2(__nv_cvt_halfraw2_to_fp8x2, __half2_raw, __half_raw, __nv_cvt_halfraw_to_fp8)
ONEPASS_TO_FP8X2(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, __nv_bfloat16_raw,
                 __nv_cvt_bfloat16raw_to_fp8)
#undef ONEPASS_TO_FP8X2
__forceinline__ __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x,
                                                       __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), kind).x,
          __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), kind).x};
}

// ---- The types

#define FP8 __nv_fp8_e4m3
#define FP8X2 __nv_fp8x2_e4m3
#define FP8X4 __nv_fp8x4_e4m3
#define FP8_KIND __NV_E4M3
#include "onepass_simulator/fp8_class.inc"
#undef FP8
#undef FP8X2
#undef FP8X4
#undef FP8_KIND

#define FP8 __nv_fp8_e5m2
#define FP8X2 __nv_fp8x2_e5m2
#define FP8X4 __nv_fp8x4_e5m2
#define FP8_KIND __NV_E5M2
#include "onepass_simulator/fp8_class.inc"
#undef FP8
#undef FP8X2
#undef FP8X4
#undef FP8_KIND

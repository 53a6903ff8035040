// How e4m3 and e5m2 are written in 8 bits.
//
//         sign  exponent  fraction   least normal   largest   infinity   NaN
//   e4m3     1         4         3           2^-6       448       none   the largest bits: 0x7f
//   e5m2     1         5         2          2^-14    57,344       0x7c   beyond it: 0x7d to 0x7f
//
// So e5m2 is the upper half of a half, and e4m3 gives its infinity away for a greater range.
#pragma once

#include "narrow_formats.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace simulator {

/// Rounded to the nearest, ties to even. What is beyond the largest becomes the largest if it is to
/// be finite, else infinity, or NaN where there is no infinity.
inline __nv_fp8_storage_t fp8_bits(double x, __nv_saturation_t saturation,
                                   __nv_fp8_interpretation_t kind) {
  const bool is_e4m3 = kind == __NV_E4M3;
  const int fraction = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
  const unsigned largest = is_e4m3 ? 0x7e : 0x7b;
  const uint64_t bits = to_bits(x);
  const unsigned sign = static_cast<unsigned>(bits >> 63) << 7;
  if (x != x) {
    return static_cast<__nv_fp8_storage_t>(sign | (is_e4m3 ? 0x7f : 0x7e | (bits >> 50 & 3)));
  }
  const int own_exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const int exponent = own_exponent > 1 - bias ? own_exponent : 1 - bias;  // below: subnormal
  unsigned magnitude = largest + 1;
  if (exponent <= 16) {
    const double units = from_bits<double>(static_cast<uint64_t>(1023 + fraction - exponent) << 52);
    // A carry runs from the fraction into the exponent.
    magnitude = (static_cast<unsigned>(exponent + bias - 1) << fraction) +
                static_cast<unsigned>(__builtin_nearbyint(__builtin_fabs(x) * units));
  }
  if (magnitude > largest) {
    magnitude = saturation == __NV_SATFINITE ? largest : is_e4m3 ? 0x7f : 0x7c;
  }
  return static_cast<__nv_fp8_storage_t>(sign | magnitude);
}

/// A float's NaN loses its sign and its bits, and e4m3's and e5m2's NaN is 0x7f.
inline __nv_fp8_storage_t fp8_bits_of_float(float x, __nv_saturation_t saturation,
                                            __nv_fp8_interpretation_t kind) {
  return x != x ? 0x7f : fp8_bits(x, saturation, kind);
}

inline float fp8_value(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) return HalfFormat::to_float(static_cast<uint16_t>(bits << 8));
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f) return from_bits<float>(0x7fffffff);
  const float magnitude = exponent == 0
                              ? static_cast<float>(fraction) * 0x1p-9f
                              : __builtin_ldexpf(static_cast<float>(8 + fraction), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

}  // namespace simulator

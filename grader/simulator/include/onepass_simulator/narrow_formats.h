// How half and bfloat16 are written in 16 bits.
//
//            sign  exponent  fraction   least normal   largest
//   half        1         5        10          2^-14   65,504
//   bfloat16    1         8         7         2^-126   3.39e38     the top half of a float
//
// With F16C (g++ -mf16c) the processor converts halves; without, the code below does. Both give the
// same bits.
#pragma once

#include "rounding.h"

namespace simulator {

constexpr uint16_t kNarrowNan = 0x7fff;  // the one NaN that conversions give, in both formats

inline uint16_t software_half_bits(float x, Rounding rounding) {
  const uint32_t bits = static_cast<uint32_t>(to_bits(x));
  const bool negative = bits >> 31;
  const uint32_t sign = negative ? 0x8000 : 0;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    return kNarrowNan;
  }
  if (magnitude == 0x7f800000) {
    return static_cast<uint16_t>(sign | 0x7c00);
  }
  constexpr uint32_t kTwoTo16 = 143u << 23;  // the first power of two past the largest half
  if (magnitude >= kTwoTo16) {
    const bool to_infinity = rounds_up(1, 0, true, negative, rounding);
    return static_cast<uint16_t>(sign | (to_infinity ? 0x7c00 : 0x7bff));
  }
  constexpr uint32_t kLeastExponent = 113;  // of 2^-14 in a float; below, halves are subnormal
  const uint32_t exponent = magnitude >> 23;
  const uint32_t significand = exponent == 0 ? 0 : (magnitude & 0x7fffff) | 0x800000;
  const uint32_t excess = exponent < kLeastExponent ? kLeastExponent - exponent : 0;
  const uint32_t shift = 13 + (excess < 12 ? excess : 12);
  // Far below the least half all that matters is whether anything is there at all.
  const bool vanishes = excess > 12 && magnitude != 0;
  const uint32_t kept = vanishes ? 0 : significand >> shift;
  const uint32_t rest = vanishes ? 1 : significand & ((1u << shift) - 1);
  const uint32_t base = excess == 0 ? (exponent - kLeastExponent) << 10 : 0;
  // A carry runs from the fraction into the exponent, and from the largest half into infinity.
  return static_cast<uint16_t>(
      sign | (base + kept + rounds_up(rest, 1u << (shift - 1), kept & 1, negative, rounding)));
}

inline float software_half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 31) {
    return from_bits<float>(sign | 0x7f800000);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign == 0 ? magnitude : -magnitude;
  }
  return from_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

#if defined(__F16C__)
typedef float FourFloats __attribute__((vector_size(16)));
typedef short EightShorts __attribute__((vector_size(16)));
#endif

/// IEEE 754's binary16.
struct HalfFormat {
  static uint16_t from_float(float x, Rounding rounding) {
#if defined(__F16C__)
    if (x != x) {
      return kNarrowNan;
    }
    const FourFloats value = {x, 0, 0, 0};
    switch (rounding) {
      case Rounding::nearest:
        return static_cast<uint16_t>(((EightShorts)__builtin_ia32_vcvtps2ph(value, 0))[0]);
      case Rounding::down:
        return static_cast<uint16_t>(((EightShorts)__builtin_ia32_vcvtps2ph(value, 1))[0]);
      case Rounding::up:
        return static_cast<uint16_t>(((EightShorts)__builtin_ia32_vcvtps2ph(value, 2))[0]);
      default:
        return static_cast<uint16_t>(((EightShorts)__builtin_ia32_vcvtps2ph(value, 3))[0]);
    }
#else
    return software_half_bits(x, rounding);
#endif
  }

  static float to_float(uint16_t bits) {
    if ((bits & 0x7fff) > 0x7c00) {
      return from_bits<float>(0x7fffffff);
    }
#if defined(__F16C__)
    const EightShorts value = {static_cast<short>(bits), 0, 0, 0, 0, 0, 0, 0};
    return __builtin_ia32_vcvtph2ps(value)[0];
#else
    return software_half_value(bits);
#endif
  }

  static constexpr uint16_t kOne = 0x3c00;
};

/// The upper 16 bits of a float.
struct Bfloat16Format {
  static uint16_t from_float(float x, Rounding rounding) {
    const uint32_t bits = static_cast<uint32_t>(to_bits(x));
    if (x != x) {
      return kNarrowNan;
    }
    const uint32_t kept = bits >> 16;
    return static_cast<uint16_t>(kept +
                                 rounds_up(bits & 0xffff, 0x8000, kept & 1, bits >> 31, rounding));
  }

  /// A GPU keeps the bits of a NaN here and loses them at the next addition or product, of which
  /// each NaN is 0x7fffffff. This processor's would keep them on: so they are lost here.
  static float to_float(uint16_t bits) {
    return from_bits<float>((bits & 0x7fff) > 0x7f80 ? 0x7fffffff
                                                     : static_cast<uint32_t>(bits) << 16);
  }

  static constexpr uint16_t kOne = 0x3f80;
};

}  // namespace simulator

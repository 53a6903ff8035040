// Rounding to a narrower type in a given direction, exactly.
//
// A result that is rounded twice can end one step away from the right one. So a first rounding goes
// "to odd": an inexact result gets an odd last bit, which tells the second rounding on which side
// of every boundary the true value lies.
#pragma once

#include <math.h>

#include "bits.h"

namespace simulator {

enum class Rounding { nearest, zero, down, up };

/// x as a float. An inexact result has an odd last bit.
inline float to_odd_float(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x) {
    return nearest;
  }
  uint32_t bits = static_cast<uint32_t>(to_bits(nearest));
  if (__builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(x)) {
    --bits;  // towards zero
  }
  return from_bits<float>(bits | 1);
}

/// a + b as a double. An inexact result has an odd last bit.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!__builtin_isfinite(sum)) {
    return sum;
  }
  const double b_part = sum - a;  // Knuth's TwoSum: a + b = sum + error, exactly
  const double error = (a - (sum - b_part)) + (b - b_part);
  uint64_t bits = to_bits(sum);
  if (error == 0 || (bits & 1) != 0) {
    return sum;
  }
  const bool away_from_zero = (error > 0) == (sum > 0);
  return from_bits<double>(away_from_zero ? bits + 1 : bits - 1);
}

/// x as a float, rounded in the given direction.
inline float to_float(double x, Rounding rounding) {
  const float nearest = static_cast<float>(x);
  const double value = nearest;
  if (rounding == Rounding::nearest || value == x || x != x) {
    return nearest;
  }
  const bool towards_positive = rounding == Rounding::up || (rounding == Rounding::zero && x < 0);
  if (towards_positive) {
    return value < x ? __builtin_nextafterf(nearest, __builtin_inff()) : nearest;
  }
  return value > x ? __builtin_nextafterf(nearest, -__builtin_inff()) : nearest;
}

/// x as a whole number, rounded in the given direction.
inline double to_whole(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return __builtin_nearbyint(x);
    case Rounding::zero:
      return __builtin_trunc(x);
    case Rounding::down:
      return __builtin_floor(x);
    default:
      return __builtin_ceil(x);
  }
}

/// x as an integer, as the GPU does it: what is too large becomes the largest, NaN becomes 0, and
/// for 64-bit types the integer with only the top bit set.
template <typename T>
inline T to_integer(double x, Rounding rounding) {
  constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  constexpr int value_bits = static_cast<int>(sizeof(T)) * 8 - is_signed;
  constexpr T top_bit = static_cast<T>(1ull << (sizeof(T) * 8 - 1));
  constexpr T least = is_signed ? top_bit : T(0);
  constexpr T largest = static_cast<T>(is_signed ? ~top_bit : ~T(0));
  if (x != x) {
    return sizeof(T) == 8 ? top_bit : T(0);
  }
  const double whole = to_whole(x, rounding);
  const double limit = __builtin_ldexp(1.0, value_bits);
  if (whole >= limit) {
    return largest;
  }
  return whole <= (is_signed ? -limit : 0.0) ? least : static_cast<T>(whole);
}

/// An integer as a double. A 64-bit one that does not fit gets an odd last bit.
inline double to_odd_double(int x) {
  return x;
}
inline double to_odd_double(unsigned x) {
  return x;
}
inline double to_odd_double(long long x) {
  const bool fits = x > -(1ll << 53) && x < 1ll << 53;
  return fits ? static_cast<double>(x) : static_cast<double>(x >> 11 | ((x & 0x7ff) != 0)) * 2048.0;
}
inline double to_odd_double(unsigned long long x) {
  return x < 1ull << 53 ? static_cast<double>(x)
                        : static_cast<double>(x >> 11 | ((x & 0x7ff) != 0)) * 2048.0;
}

/// Does cutting off `rest` of a magnitude ask for the next larger one? `half` is half a unit of
/// what is kept.
inline bool rounds_up(uint32_t rest, uint32_t half, bool kept_is_odd, bool negative,
                      Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return rest > half || (rest == half && kept_is_odd);
    case Rounding::zero:
      return false;
    case Rounding::down:
      return rest != 0 && negative;
    default:
      return rest != 0 && !negative;
  }
}

}  // namespace simulator

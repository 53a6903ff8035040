#include "verdict/values/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "wire/json.h"
#include "worker/hash_fill.h"

namespace onepass::verdict {
namespace {

/// A binary floating-point type: a number is an integer below 2^precision times a power of two.
struct Format {
  int precision;         // bits of the significand, the leading one included
  int least_exponent;    // of the smallest normal number
  int largest_exponent;  // of the largest number
};

inline Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp16:
      return {11, -14, 15};
    case Dtype::bf16:
      return {8, -126, 127};
    default:
      return {24, -126, 127};
  }
}

// Millions of numbers are rounded and decoded: so exponents are read and written as an fp64's bits,
// ten times as fast as with ilogb() and ldexp().

/// 2^exponent, a normal number.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// That of a finite number; for 0 and subnormal ones below all of theirs.
inline int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FF) - 1023;
}

/// The place value of the last bit of numbers as large as `value`, which is finite.
inline double last_place(const Format& format, double value) {
  return power_of_two(std::max(exponent_of(value), format.least_exponent) - (format.precision - 1));
}

inline double round_float(const Format& format, double value) {
  if (!std::isfinite(value) || value == 0.0) {
    return value;
  }
  // An fp64 so large ends with the bit that is last in the type: adding rounds there, ties to even.
  const double large = 0x1.8p52 * last_place(format, value);
  const double rounded = std::copysign((std::abs(value) + large) - large, value);
  const double limit = power_of_two(format.largest_exponent + 1);
  return std::abs(rounded) < limit ? rounded
                                   : std::copysign(std::numeric_limits<double>::infinity(), value);
}

template <typename T>
T load(const std::byte* bits) {
  T value;
  std::memcpy(&value, bits, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* bits, T value) {
  std::memcpy(bits, &value, sizeof value);
}

inline double decode_fp16(std::uint16_t bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  if (exponent == 0x1F) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * fraction * power_of_two(-24)
                       : sign * (fraction + 1024) * power_of_two(exponent - 25);
}

template <typename T>
T to_integer(double value) {
  const double rounded = std::nearbyint(value);
  // The largest int64 is no double; its neighbour above is, and is already out of range.
  constexpr double kEnd = -static_cast<double>(std::numeric_limits<T>::min());
  if (rounded >= kEnd) {
    return std::numeric_limits<T>::max();
  }
  return rounded >= -kEnd ? static_cast<T>(rounded) : std::numeric_limits<T>::min();  // NaN too
}

}  // namespace

std::string name(Dtype dtype) {
  return nlohmann::json(dtype);
}

Dtype dtype_named(const std::string& wanted) {
  const Dtype dtype = nlohmann::json(wanted).get<Dtype>();  // that of no such name is the first
  if (name(dtype) != wanted) {
    throw std::invalid_argument("no dtype is called \"" + wanted + "\"");
  }
  return dtype;
}

double decode(Dtype dtype, const std::byte* bits) {
  switch (dtype) {
    case Dtype::fp32:
      return load<float>(bits);
    case Dtype::fp16:
      return decode_fp16(load<std::uint16_t>(bits));
    case Dtype::bf16:  // the upper half of an fp32
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(bits)} << 16);
    case Dtype::int32:
      return load<std::int32_t>(bits);
    case Dtype::int64:
      return static_cast<double>(load<std::int64_t>(bits));
  }
  throw std::invalid_argument("no such dtype");
}

double round_to(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::int32:
      return to_integer<std::int32_t>(value);
    case Dtype::int64:
      return static_cast<double>(to_integer<std::int64_t>(value));
    case Dtype::fp32:  // as the machine does it: to nearest, ties to even
      return static_cast<float>(value);
    default:
      return round_float(format_of(dtype), value);
  }
}

void encode(Dtype dtype, double value, std::byte* bits) {
  // A number of the type once it is rounded, and so one of fp32.
  const auto number = [&] { return static_cast<float>(round_to(dtype, value)); };
  switch (dtype) {
    case Dtype::fp32:  // a GPU's NaN, to which rounding by hand to 16 bits adds until it is none
      return std::isnan(value) ? store(bits, std::uint32_t{0x7fffffff}) : store(bits, number());
    case Dtype::fp16:
      return store(bits, worker::fp16_bits(number()));
    case Dtype::bf16:
      return store(bits, worker::bf16_bits(number()));
    case Dtype::int32:
      return store(bits, to_integer<std::int32_t>(value));
    case Dtype::int64:
      return store(bits, to_integer<std::int64_t>(value));
  }
}

double round_to(Dtype dtype, double value, Rounding way) {
  const double nearest = round_to(dtype, value);
  if (!std::isfinite(nearest) || nearest == value) {
    return nearest;
  }
  const double place = std::copysign(ulp(dtype, value), value);
  const double inner = std::abs(nearest) > std::abs(value) ? nearest - place : nearest;
  const double outer = inner + place;
  const bool is_half = value - inner == outer - value;
  switch (way) {
    case Rounding::toward_zero:
      return inner;
    case Rounding::away_from_zero:
      return outer;
    case Rounding::up:
      return std::max(inner, outer);
    case Rounding::down:
      return std::min(inner, outer);
    case Rounding::halves_away:
      return is_half ? outer : nearest;
    case Rounding::halves_toward_zero:
      return is_half ? inner : nearest;
  }
  throw std::invalid_argument("no such rounding");
}

double ulp(Dtype dtype, double value) {
  if (is_integer(dtype)) {
    return 1.0;
  }
  const Format format = format_of(dtype);
  const double largest = std::ldexp(1.0, format.largest_exponent);
  return last_place(format, std::isfinite(value) ? std::min(std::abs(value), largest) : largest);
}

}  // namespace onepass::verdict

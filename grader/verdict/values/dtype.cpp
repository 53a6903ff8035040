#include "verdict/values/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace onepass::verdict {
namespace {

/// A binary floating-point type: a number is an integer below 2^precision times a power of two.
struct Format {
  int precision;         // bits of the significand, the leading one included
  int least_exponent;    // of the smallest normal number
  int largest_exponent;  // of the largest number
};

bool is_integer(Dtype dtype) {
  return dtype == Dtype::int32 || dtype == Dtype::int64;
}

Format format_of(Dtype dtype) {
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
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// That of a finite number; for 0 and subnormal ones below all of theirs.
int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FF) - 1023;
}

/// The place value of the last bit of numbers as large as `value`, which is finite.
double last_place(const Format& format, double value) {
  return power_of_two(std::max(exponent_of(value), format.least_exponent) - (format.precision - 1));
}

double round_float(const Format& format, double value) {
  if (!std::isfinite(value) || value == 0.0) {
    return value;
  }
  // Division and multiplication by a power of two are exact; nearbyint() rounds ties to even.
  const double place = last_place(format, value);
  const double rounded = std::nearbyint(value / place) * place;
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

double decode_fp16(std::uint16_t bits) {
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

/// `value` is a number of the type, infinite or NaN.
std::uint16_t fp16_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) {
    return 0x7FFF;
  }
  if (std::isinf(value)) {
    return static_cast<std::uint16_t>(sign | 0x7C00);
  }
  if (magnitude < std::ldexp(1.0, -14)) {  // subnormal: counts units of 2^-24
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(magnitude, 24)));
  }
  const int exponent = std::ilogb(magnitude);
  const int significand = static_cast<int>(std::ldexp(magnitude, 10 - exponent));  // 1024 to 2047
  return static_cast<std::uint16_t>(sign | (((exponent + 15) << 10) + (significand - 1024)));
}

template <typename T>
T to_integer(double value) {
  const double rounded = std::nearbyint(value);
  // The largest int64 is no double; its neighbour above is, and is already out of range.
  if (rounded >= -static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::max();
  }
  if (!(rounded >= static_cast<double>(std::numeric_limits<T>::min()))) {  // NaN too
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(rounded);
}

}  // namespace

std::string name(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::fp16:
      return "fp16";
    case Dtype::bf16:
      return "bf16";
    case Dtype::int32:
      return "int32";
    case Dtype::int64:
      return "int64";
  }
  throw std::invalid_argument("no such dtype");
}

Dtype dtype_named(std::string_view wanted) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::int32, Dtype::int64}) {
    if (name(dtype) == wanted) {
      return dtype;
    }
  }
  throw std::invalid_argument("no dtype is called \"" + std::string(wanted) + "\"");
}

double decode(Dtype dtype, const std::byte* bits) {
  switch (dtype) {
    case Dtype::fp32:
      return load<float>(bits);
    case Dtype::fp16:
      return decode_fp16(load<std::uint16_t>(bits));
    case Dtype::bf16: {  // bf16 is the upper half of an fp32
      const std::uint32_t wide = static_cast<std::uint32_t>(load<std::uint16_t>(bits)) << 16;
      float value;
      std::memcpy(&value, &wide, sizeof value);
      return value;
    }
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
    default:
      return round_float(format_of(dtype), value);
  }
}

void encode(Dtype dtype, double value, std::byte* bits) {
  switch (dtype) {
    case Dtype::fp32:
      store(bits, static_cast<float>(round_float(format_of(dtype), value)));
      break;
    case Dtype::fp16:
      store(bits, fp16_bits(round_float(format_of(dtype), value)));
      break;
    case Dtype::bf16: {
      const float rounded = static_cast<float>(round_float(format_of(dtype), value));
      std::uint32_t wide;
      std::memcpy(&wide, &rounded, sizeof wide);
      store(bits, static_cast<std::uint16_t>(wide >> 16));
      break;
    }
    case Dtype::int32:
      store(bits, to_integer<std::int32_t>(value));
      break;
    case Dtype::int64:
      store(bits, to_integer<std::int64_t>(value));
      break;
  }
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

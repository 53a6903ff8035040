// Hash fills are the same numbers everywhere: known values, and roundings against the definition.
#include "worker/hash_fill.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using namespace onepass::worker;

/// The value of fp16 bits, from the definition of the format.
double fp16_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10) & 0x1F;
  const int mantissa = static_cast<int>(bits & 0x3FF);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double bf16_value(unsigned bits) {
  const uint32_t wide = bits << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// For all finite 16-bit numbers: they come back as they are, and what lies between two neighbours
/// goes to the nearer one, from the middle to the even one.
template <typename Round, typename Value>
void check_rounding(Round round, Value value_of, unsigned infinity) {
  for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
    const auto low = static_cast<float>(value_of(bits));
    const auto high = static_cast<float>(value_of(bits + 1));
    const float middle = low / 2 + high / 2;
    const unsigned even = bits + bits % 2;
    const bool right = round(low) == bits && round(-low) == (bits | 0x8000u) &&
                       round(middle) == even && round(std::nextafter(middle, low)) == bits &&
                       round(std::nextafter(middle, high)) == bits + 1;
    if (!right) {
      FAIL("wrong rounding at 16-bit number ", bits);
    }
  }
}

TEST_SUITE("hash fill") {
  TEST_CASE("splitmix64 gives its published numbers") {
    CHECK(splitmix64(0) == 0xE220A8397B1DCDAFu);
    CHECK(splitmix64(0x9E3779B97F4A7C15u) == 0x6E789E6AA1B965F4u);
  }

  TEST_CASE("known values, which no change may move") {
    CHECK(fp32_bits(hash_value(42, 0, 1.5f, 2.0f)) == 0x401DD732u);
    CHECK(fp32_bits(hash_value(42, 1, 1.5f, 2.0f)) == 0x401A69ECu);
    CHECK(fp32_bits(hash_value(42, 2, 1.5f, 2.0f)) == 0x3EB4F570u);
    CHECK(fp32_bits(hash_value(42, 3, 1.5f, 2.0f)) == 0xBE6717C0u);
    CHECK(fp16_bits(hash_value(42, 3, 1.5f, 2.0f)) == 0xB339u);
    CHECK(bf16_bits(hash_value(42, 3, 1.5f, 2.0f)) == 0xBE67u);
    CHECK(fill_seed(42, 1) == splitmix64(43));
  }

  TEST_CASE("values are uniform around the mean and stay in range") {
    double sum = 0;
    float least = 100;
    float most = -100;
    constexpr int kCount = 1 << 20;
    for (int i = 0; i < kCount; ++i) {
      const float value = hash_value(7, static_cast<uint64_t>(i), 3.0f, 0.5f);
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    CHECK(std::abs(sum / kCount - 3.0) < 2e-3);  // four standard errors of the mean are 1.1e-3
    CHECK(least >= 2.5f);
    CHECK(most < 3.5f);
    CHECK(most - least > 0.999f);
  }

  TEST_CASE("fp16 and bf16 round to nearest, ties to even, subnormals too") {
    check_rounding(fp16_bits, fp16_value, 0x7C00);
    check_rounding(bf16_bits, bf16_value, 0x7F80);
    CHECK(fp16_bits(65519.0f) == 0x7BFF);
    CHECK(fp16_bits(65520.0f) == 0x7C00);
    CHECK(fp16_bits(-std::numeric_limits<float>::infinity()) == 0xFC00);
    CHECK(bf16_bits(std::numeric_limits<float>::max()) == 0x7F80);
    CHECK(fp16_bits(std::nanf("")) == 0x7FFF);
    CHECK(bf16_bits(std::nanf("")) == 0x7FFF);
  }
}

}  // namespace

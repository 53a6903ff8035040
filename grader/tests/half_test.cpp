// __half and __nv_bfloat16 against the definition of their formats, worked out here in another way:
// a table of all finite values, in which a number is looked up. Where there is a CUDA toolkit, also
// against NVIDIA's own conversions. Built twice, with and without F16C.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#ifdef ONEPASS_WITH_NVIDIA_HEADERS
#include "nvidia/conversions.h"
#endif

namespace {

enum class Round { nearest, zero, down, up };
constexpr Round kRoundings[] = {Round::nearest, Round::zero, Round::down, Round::up};

// A 16-bit format by its definition. The bits of a positive value are its index in `values`.
struct Format {
  int fraction_bits;
  int bias;
  std::vector<double> values;  // 0, the least subnormal, ..., the largest, and what follows it

  Format(int fraction, int exponent_bits)
      : fraction_bits(fraction), bias((1 << (exponent_bits - 1)) - 1) {
    const int infinity = ((1 << exponent_bits) - 1) << fraction;
    for (int bits = 0; bits <= infinity; ++bits) {
      const int exponent = bits >> fraction;
      const int significand = (bits & ((1 << fraction) - 1)) + (exponent > 0 ? 1 << fraction : 0);
      values.push_back(std::ldexp(significand, std::max(exponent, 1) - bias - fraction));
    }
  }

  std::uint16_t infinity() const { return static_cast<std::uint16_t>(values.size() - 1); }

  std::uint16_t rounded(double x, Round round) const {
    if (std::isnan(x)) {
      return 0x7fff;
    }
    const bool negative = std::signbit(x);
    const double magnitude = std::fabs(x);
    const auto above = std::upper_bound(values.begin(), values.end(), magnitude);
    std::size_t bits = static_cast<std::size_t>(above - values.begin()) - 1;
    if (std::isinf(x)) {
      bits = infinity();
    } else if (above == values.end() || magnitude != values[bits]) {
      const bool away = (round == Round::up && !negative) || (round == Round::down && negative);
      if (above == values.end()) {
        bits = round == Round::nearest || away ? infinity() : infinity() - 1u;
      } else {
        const double below_gap = magnitude - values[bits];
        const double above_gap = values[bits + 1] - magnitude;
        const bool nearer_above =
            below_gap > above_gap || (below_gap == above_gap && bits % 2 == 1);
        bits += away || (round == Round::nearest && nearer_above);
      }
    } else if (bits == infinity()) {  // exactly the power of two after the largest value
      const bool away = (round == Round::up && !negative) || (round == Round::down && negative);
      bits -= round != Round::nearest && !away;
    }
    return static_cast<std::uint16_t>(bits | (negative ? 0x8000 : 0));
  }

  double value(std::uint16_t bits) const {
    const int magnitude = bits & 0x7fff;
    if (magnitude > infinity()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double result =
        magnitude == infinity() ? std::numeric_limits<double>::infinity() : values[magnitude];
    return bits & 0x8000 ? -result : result;
  }
};

const Format& half_format() {
  static const Format format(10, 5);
  return format;
}
const Format& bfloat16_format() {
  static const Format format(7, 8);
  return format;
}

// Every value of the format, every midpoint between two, and the neighbours of both; both signs.
template <typename Real>
std::vector<Real> boundary_cases(const Format& format) {
  std::vector<Real> cases = {
      0, std::numeric_limits<Real>::infinity(), std::numeric_limits<Real>::max(),
      std::numeric_limits<Real>::denorm_min(), std::numeric_limits<Real>::quiet_NaN()};
  const Real infinity = std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i + 1 < format.values.size(); ++i) {
    const double middle = (format.values[i] + format.values[i + 1]) / 2;
    for (const double around : {format.values[i], middle, format.values[i + 1]}) {
      const Real center = static_cast<Real>(around);
      cases.push_back(center);
      cases.push_back(std::nextafter(center, infinity));
      cases.push_back(std::nextafter(center, -infinity));
    }
  }
  const std::size_t positive = cases.size();
  for (std::size_t i = 0; i < positive; ++i) {
    cases.push_back(-cases[i]);
  }
  return cases;
}

std::uint16_t half_of(float x, Round round) {
  switch (round) {
    case Round::nearest:
      return __half_as_ushort(__float2half_rn(x));
    case Round::zero:
      return __half_as_ushort(__float2half_rz(x));
    case Round::down:
      return __half_as_ushort(__float2half_rd(x));
    default:
      return __half_as_ushort(__float2half_ru(x));
  }
}
std::uint16_t bfloat16_of(float x, Round round) {
  switch (round) {
    case Round::nearest:
      return __bfloat16_as_ushort(__float2bfloat16_rn(x));
    case Round::zero:
      return __bfloat16_as_ushort(__float2bfloat16_rz(x));
    case Round::down:
      return __bfloat16_as_ushort(__float2bfloat16_rd(x));
    default:
      return __bfloat16_as_ushort(__float2bfloat16_ru(x));
  }
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// How many cases fail, with the first one named: a CHECK for each of a million would take minutes.
struct Tally {
  int wrong = 0;
  double first = 0;
  void add(bool right, double input) {
    if (!right && wrong++ == 0) {
      first = input;
    }
  }
  void check() const {
    CAPTURE(first);
    CHECK(wrong == 0);
  }
};

}  // namespace

TEST_SUITE("half and bfloat16") {
  TEST_CASE("all 65,536 values are read as the formats define them") {
    Tally tally;
    for (int i = 0; i < 65536; ++i) {
      const std::uint16_t bits = static_cast<std::uint16_t>(i);
      tally.add(same(static_cast<float>(__ushort_as_half(bits)), half_format().value(bits)), i);
      tally.add(same(simulator::software_half_value(bits), half_format().value(bits)) ||
                    std::isnan(half_format().value(bits)),
                i);
      tally.add(same(static_cast<float>(__ushort_as_bfloat16(bits)), bfloat16_format().value(bits)),
                i);
    }
    tally.check();
  }

  TEST_CASE("floats round to both types in every direction") {
    Tally tally;
    for (const Round round : kRoundings) {
      const auto rounding = static_cast<simulator::Rounding>(round);
      for (const float x : boundary_cases<float>(half_format())) {
        const std::uint16_t expected = half_format().rounded(x, round);
        tally.add(half_of(x, round) == expected, x);
        tally.add(simulator::software_half_bits(x, rounding) == expected, x);
      }
      for (const float x : boundary_cases<float>(bfloat16_format())) {
        tally.add(bfloat16_of(x, round) == bfloat16_format().rounded(x, round), x);
      }
    }
    tally.check();
  }

  TEST_CASE("doubles round once") {
    Tally tally;
    for (const double x : boundary_cases<double>(half_format())) {
      tally.add(__half_as_ushort(__half(x)) == half_format().rounded(x, Round::nearest), x);
    }
    for (const double x : boundary_cases<double>(bfloat16_format())) {
      tally.add(
          __bfloat16_as_ushort(__nv_bfloat16(x)) == bfloat16_format().rounded(x, Round::nearest),
          x);
    }
    tally.check();
  }

#ifdef ONEPASS_WITH_NVIDIA_HEADERS
  TEST_CASE("NVIDIA's headers convert to the same bits") {
    Tally tally;
    for (int i = 0; i < 65536; ++i) {
      const std::uint16_t bits = static_cast<std::uint16_t>(i);
      tally.add(same(static_cast<float>(__ushort_as_half(bits)), nvidia::value_of_half(bits)), i);
      tally.add(
          same(static_cast<float>(__ushort_as_bfloat16(bits)), nvidia::value_of_bfloat16(bits)), i);
    }
    for (const Round round : kRoundings) {
      const auto theirs = static_cast<nvidia::Round>(round);
      for (const float x : boundary_cases<float>(half_format())) {
        tally.add(half_of(x, round) == nvidia::half_of(x, theirs), x);
      }
      for (const float x : boundary_cases<float>(bfloat16_format())) {
        tally.add(bfloat16_of(x, round) == nvidia::bfloat16_of(x, theirs), x);
      }
    }
    for (const double x : boundary_cases<double>(half_format())) {
      tally.add(__half_as_ushort(__double2half(x)) == nvidia::half_of(x), x);
    }
    for (const double x : boundary_cases<double>(bfloat16_format())) {
      tally.add(__bfloat16_as_ushort(__double2bfloat16(x)) == nvidia::bfloat16_of(x), x);
    }
    tally.check();
  }
#endif

  // Sums and products of halves fit a double, so their right rounding is known.
  TEST_CASE("arithmetic rounds once") {
    std::mt19937 random(1);
    Tally tally;
    for (int i = 0; i < 300000; ++i) {
      const std::uint16_t a_bits = static_cast<std::uint16_t>(random());
      const std::uint16_t b_bits = static_cast<std::uint16_t>(random());
      const __half a = __ushort_as_half(a_bits);
      const __half b = __ushort_as_half(b_bits);
      const double x = half_format().value(a_bits);
      const double y = half_format().value(b_bits);
      tally.add(__half_as_ushort(a + b) == half_format().rounded(x + y, Round::nearest), x);
      tally.add(__half_as_ushort(a - b) == half_format().rounded(x - y, Round::nearest), x);
      tally.add(__half_as_ushort(a * b) == half_format().rounded(x * y, Round::nearest), x);
      const __nv_bfloat16 c = __ushort_as_bfloat16(a_bits);
      const __nv_bfloat16 d = __ushort_as_bfloat16(b_bits);
      const double product = bfloat16_format().value(a_bits) * bfloat16_format().value(b_bits);
      tally.add(__bfloat16_as_ushort(c * d) == bfloat16_format().rounded(product, Round::nearest),
                x);
    }
    tally.check();
  }

  // 2^-24 decides: the product alone lies half-way between two halves, the sum does not.
  TEST_CASE("a fused multiply-add rounds once") {
    const __half a(1.0f + 0x1p-10f);
    const __half b(1.0f + 0x1p-1f);  // a * b = 1.5 + 1.5 * 2^-10, a midpoint
    CHECK(static_cast<float>(__hmul(a, b)) == 1.5f + 0x1p-9f);
    CHECK(static_cast<float>(__hfma(a, b, __half(-0x1p-24f))) == 1.5f + 0x1p-10f);
    CHECK(static_cast<float>(__hfma(a, b, __half(0x1p-24f))) == 1.5f + 0x1p-9f);
    // Far below the last bit of a double.
    const __nv_bfloat16 tiny(0x1p-120f);
    const __nv_bfloat16 c(1.0f + 0x1p-7f);
    const __nv_bfloat16 d(1.5f);  // c * d = 1.5 + 1.5 * 2^-7, a midpoint
    CHECK(static_cast<float>(__hfma(c, d, tiny)) == 1.5f + 0x1p-6f);
    CHECK(static_cast<float>(__hfma(c, d, -tiny)) == 1.5f + 0x1p-7f);
  }

  TEST_CASE("integers convert, saturate and round") {
    CHECK(static_cast<int>(__half(-2.75f)) == -2);
    CHECK(__half2int_rn(__half(2.5f)) == 2);
    CHECK(__half2int_rd(__half(-2.5f)) == -3);
    CHECK(__half2short_rn(__half(HUGE_VALF)) == 32767);
    CHECK(__half2ushort_rz(__half(-1.0f)) == 0);
    CHECK(__half2int_rn(CUDART_NAN_FP16) == 0);
    CHECK(static_cast<float>(__int2half_rz(2049)) == 2048.0f);
    CHECK(static_cast<float>(__int2half_ru(2049)) == 2050.0f);
    CHECK(static_cast<float>(__ll2bfloat16_rn((1ll << 62) + (1ll << 54))) == 0x1p62f);
    CHECK(static_cast<float>(__ll2bfloat16_rn((1ll << 62) + (1ll << 54) + 1)) == 0x1p62f + 0x1p55f);
  }

  TEST_CASE("comparisons with NaN") {
    const __half nan = CUDART_NAN_FP16;
    const __half one(1.0f);
    CHECK(!(nan == nan));
    CHECK(nan != nan);
    CHECK(!__hne(nan, one));
    CHECK(__hltu(nan, one));
    CHECK(__hisnan(nan));
    CHECK(!__hisnan(CUDART_INF_FP16));
    CHECK(__hisinf(__hneg(CUDART_INF_FP16)) == -1);
    CHECK(static_cast<float>(__hmax(nan, one)) == 1.0f);
    CHECK(__hisnan(__hmax_nan(nan, one)));
    CHECK(__heq2_mask(__half2(one, nan), __half2(one, one)) == 0xffffu);
  }

  TEST_CASE("pairs work part by part") {
    const __half2 a = __floats2half2_rn(1.0f, 2.0f);
    const __half2 b = __float2half2_rn(3.0f);
    const float2 sum = __half22float2(a * b + b);
    CHECK(sum.x == 6.0f);
    CHECK(sum.y == 9.0f);
    CHECK(__low2float(__lowhigh2highlow(a)) == 2.0f);
    CHECK(sizeof(__half2) == 4);
    CHECK(alignof(__nv_bfloat162) == 4);
    const float2 pair = __bfloat1622float2(__float22bfloat162_rn(float2{1.5f, -2.5f}));
    CHECK(pair.y == -2.5f);
  }
}

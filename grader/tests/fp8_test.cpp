// __nv_fp8_e4m3 and __nv_fp8_e5m2 against the definition of their formats, worked out here in
// another way: the nearest of all 127 magnitudes. Where there is a CUDA toolkit, also against
// NVIDIA's own conversions.
#include <cuda_fp8.h>

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

/// One of the two formats, by its definition.
struct Format {
  __nv_fp8_interpretation_t kind;
  int fraction_bits, bias;
  std::uint8_t largest;

  double magnitude(int bits) const {
    const int exponent = bits >> fraction_bits;
    const int significand =
        (bits & ((1 << fraction_bits) - 1)) + (exponent > 0 ? 1 << fraction_bits : 0);
    return std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
  }

  /// The nearest, the even one of two; as if there were a number after the largest.
  std::uint8_t rounded(double x, bool finite) const {
    const int sign = std::signbit(x) ? 0x80 : 0;
    int best = 0;
    for (int bits = 1; bits <= largest + 1; ++bits) {
      const double distance = std::fabs(std::fabs(x) - magnitude(bits));
      const double so_far = std::fabs(std::fabs(x) - magnitude(best));
      if (distance < so_far || (distance == so_far && bits % 2 == 0)) best = bits;
    }
    if (std::fabs(x) > magnitude(largest + 1)) best = largest + 1;
    if (best > largest) best = finite ? largest : kind == __NV_E4M3 ? 0x7f : 0x7c;
    return static_cast<std::uint8_t>(best | sign);
  }
};

const Format kFormats[] = {{__NV_E4M3, 3, 7, 0x7e}, {__NV_E5M2, 2, 15, 0x7b}};

/// All magnitudes, what lies between two, the neighbours of both, and some from everywhere.
template <typename Real>
std::vector<Real> inputs(const Format& format) {
  const Real infinity = std::numeric_limits<Real>::infinity();
  std::vector<Real> all = {0,
                           infinity,
                           std::numeric_limits<Real>::max(),
                           std::numeric_limits<Real>::denorm_min(),
                           Real(464),
                           Real(61440)};
  for (int bits = 0; bits <= format.largest; ++bits) {
    const double middle = (format.magnitude(bits) + format.magnitude(bits + 1)) / 2;
    for (const double around : {format.magnitude(bits), middle}) {
      const Real center = static_cast<Real>(around);
      all.insert(all.end(),
                 {center, std::nextafter(center, infinity), std::nextafter(center, -infinity)});
    }
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponents(-30, 30);
  for (int i = 0; i < 2000; ++i) all.push_back(static_cast<Real>(std::exp2(exponents(random))));
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  return all;
}

__nv_saturation_t saturation(bool finite) {
  return finite ? __NV_SATFINITE : __NV_NOSAT;
}

}  // namespace

TEST_SUITE("fp8") {
  TEST_CASE("all 256 values are read as the formats define them") {
    for (const Format& format : kFormats) {
      for (int bits = 0; bits < 256; ++bits) {
        CAPTURE(bits);
        const auto storage = static_cast<__nv_fp8_storage_t>(bits);
        const __half half = __nv_cvt_fp8_to_halfraw(storage, format.kind);
        const float value = half;
        const int magnitude = bits & 0x7f;
        if (magnitude > format.largest) {
          const bool is_infinite = format.kind == __NV_E5M2 && magnitude == 0x7c;
          CHECK((is_infinite ? std::isinf(value) : std::isnan(value)));
        } else {
          CHECK(std::fabs(value) == format.magnitude(magnitude));
        }
        if (!std::isnan(value)) CHECK(std::signbit(value) == (bits > 127));
      }
    }
  }

  TEST_CASE("floats and doubles round once, to the nearest") {
    for (const Format& format : kFormats) {
      for (const bool finite : {true, false}) {
        for (const float x : inputs<float>(format)) {
          CAPTURE(x);
          REQUIRE(__nv_cvt_float_to_fp8(x, saturation(finite), format.kind) ==
                  format.rounded(x, finite));
        }
        for (const double x : inputs<double>(format)) {
          CAPTURE(x);
          REQUIRE(__nv_cvt_double_to_fp8(x, saturation(finite), format.kind) ==
                  format.rounded(x, finite));
        }
      }
      CHECK(__nv_cvt_float_to_fp8(-NAN, __NV_SATFINITE, format.kind) == 0x7f);
    }
  }

#ifdef ONEPASS_WITH_NVIDIA_HEADERS
  TEST_CASE("NVIDIA's headers convert to the same bits") {
    for (const Format& format : kFormats) {
      const bool is_e5m2 = format.kind == __NV_E5M2;
      for (const bool finite : {true, false}) {
        for (const float x : inputs<float>(format)) {
          REQUIRE(__nv_cvt_float_to_fp8(x, saturation(finite), format.kind) ==
                  nvidia::fp8_of(x, finite, is_e5m2));
        }
        for (const double x : inputs<double>(format)) {
          REQUIRE(__nv_cvt_double_to_fp8(x, saturation(finite), format.kind) ==
                  nvidia::fp8_of(x, finite, is_e5m2));
        }
        for (const double nan : {std::nan(""), -std::nan(""), std::nan("0x123456789")}) {
          CHECK(__nv_cvt_double_to_fp8(nan, saturation(finite), format.kind) ==
                nvidia::fp8_of(nan, finite, is_e5m2));
          const float narrow = static_cast<float>(nan);
          CHECK(__nv_cvt_float_to_fp8(narrow, saturation(finite), format.kind) ==
                nvidia::fp8_of(narrow, finite, is_e5m2));
        }
        int wrong = 0;
        for (int i = 0; i < 65536; ++i) {
          const auto bits = static_cast<std::uint16_t>(i);
          wrong += __nv_cvt_halfraw_to_fp8(__half_raw{bits}, saturation(finite), format.kind) !=
                   nvidia::fp8_of_half(bits, finite, is_e5m2);
          wrong += __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{bits}, saturation(finite),
                                               format.kind) !=
                   nvidia::fp8_of_bfloat16(bits, finite, is_e5m2);
        }
        CHECK(wrong == 0);
      }
      for (int i = 0; i < 256; ++i) {
        const auto bits = static_cast<std::uint8_t>(i);
        CHECK(__nv_cvt_fp8_to_halfraw(bits, format.kind).x == nvidia::half_of_fp8(bits, is_e5m2));
      }
    }
    for (int i = 0; i < 256; ++i) {
      __nv_fp8_e4m3 wide;
      __nv_fp8_e5m2 narrow;
      wide.__x = narrow.__x = static_cast<std::uint8_t>(i);
      CHECK(static_cast<int>(wide) == nvidia::integer_of_e4m3(wide.__x));
      CHECK(static_cast<signed char>(narrow) == nvidia::byte_of_e5m2(narrow.__x));
    }
  }
#endif

  TEST_CASE("the types saturate, and pack two and four") {
    CHECK(__nv_fp8_e4m3(1e9f).__x == 0x7e);
    CHECK(static_cast<float>(__nv_fp8_e4m3(-448.0f)) == -448.0f);
    CHECK(__nv_fp8_e5m2(-INFINITY).__x == 0xfb);
    CHECK(__nv_fp8_e4m3(__half(0.5f)).__x == 0x30);
    CHECK(__nv_fp8_e4m3(17).__x == __nv_fp8_e4m3(16.0f).__x);
    CHECK(static_cast<int>(__nv_fp8_e5m2(-3.5f)) == -3);
    CHECK(__nv_fp8x2_e4m3(float2{1.0f, -2.0f}).__x == 0xc038);
    CHECK(__nv_fp8x4_e4m3(float4{1.0f, -2.0f, 0.5f, 448.0f}).__x == 0x7e30c038);
    CHECK(__nv_fp8x4_e5m2(__floats2half2_rn(1.0f, 2.0f), __floats2half2_rn(4.0f, 8.0f)).__x ==
          0x4844403c);
    const float4 back = static_cast<float4>(__nv_fp8x4_e5m2(float4{1.0f, 2.0f, 4.0f, 8.0f}));
    CHECK(back.x == 1.0f);
    CHECK(back.w == 8.0f);
    CHECK(static_cast<float2>(__nv_fp8x2_e4m3(double2{0.25, 3.0})).y == 3.0f);
    CHECK(sizeof(__nv_fp8_e4m3) == 1);
    CHECK(alignof(__nv_fp8x4_e4m3) == 4);
  }
}

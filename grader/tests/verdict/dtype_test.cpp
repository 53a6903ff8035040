// Exact conversion and single rounding of every dtype.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "verdict/values/matrix.h"
#include "verdict/values/random.h"
#include "worker/hash_fill.h"

using namespace onepass::verdict;

namespace {

const double kInf = std::numeric_limits<double>::infinity();

std::uint16_t bits16(Dtype dtype, double value) {
  std::byte bytes[2];
  encode(dtype, value, bytes);
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

}  // namespace

TEST_CASE("every 16-bit number survives decoding and encoding") {
  for (const Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const auto wanted = static_cast<std::uint16_t>(bits);
      std::byte bytes[2];
      std::memcpy(bytes, &wanted, 2);
      const double value = decode(dtype, bytes);
      if (!std::isnan(value)) {
        REQUIRE(bits16(dtype, value) == wanted);
      }
    }
  }
}

TEST_CASE("ties go to even, and what is too large becomes infinite") {
  CHECK(round_to(Dtype::fp16, 2049.0) == 2048.0);
  CHECK(round_to(Dtype::fp16, 2051.0) == 2052.0);
  CHECK(round_to(Dtype::fp16, 65519.9) == 65504.0);
  CHECK(round_to(Dtype::fp16, 65520.0) == kInf);
  CHECK(round_to(Dtype::fp16, -1e9) == -kInf);
  CHECK(round_to(Dtype::bf16, 257.0) == 256.0);
  CHECK(round_to(Dtype::bf16, 259.0) == 260.0);
  CHECK(round_to(Dtype::fp32, 16777217.0) == 16777216.0);
  CHECK(round_to(Dtype::fp16, std::ldexp(1.0, -25)) == 0.0);
  CHECK(round_to(Dtype::fp16, std::ldexp(1.5, -25)) == std::ldexp(1.0, -24));
  CHECK(std::isnan(round_to(Dtype::bf16, std::nan(""))));
}

TEST_CASE("other ways to round: in a direction, or with halves away from zero or toward it") {
  struct Rounded {
    Rounding way;
    double below_half, half, above_half, negative_half;  // of 256.5, 257, 257.5 and -257
  };
  // bf16 has 256, 258 and no number between; 256 is the one that is even.
  for (const auto& [way, below_half, half, above_half, negative_half] :
       {Rounded{Rounding::toward_zero, 256.0, 256.0, 256.0, -256.0},
        Rounded{Rounding::away_from_zero, 258.0, 258.0, 258.0, -258.0},
        Rounded{Rounding::up, 258.0, 258.0, 258.0, -256.0},
        Rounded{Rounding::down, 256.0, 256.0, 256.0, -258.0},
        Rounded{Rounding::halves_away, 256.0, 258.0, 258.0, -258.0},
        Rounded{Rounding::halves_toward_zero, 256.0, 256.0, 258.0, -256.0}}) {
    CHECK(round_to(Dtype::bf16, 256.5, way) == below_half);
    CHECK(round_to(Dtype::bf16, 257.0, way) == half);
    CHECK(round_to(Dtype::bf16, 257.5, way) == above_half);
    CHECK(round_to(Dtype::bf16, -257.0, way) == negative_half);
    CHECK(round_to(Dtype::bf16, 258.0, way) == 258.0);
    CHECK(round_to(Dtype::bf16, -kInf, way) == -kInf);
    CHECK(std::isnan(round_to(Dtype::bf16, std::nan(""), way)));
  }
}

TEST_CASE("rounding is done once, not by way of fp32") {
  // Just above a tie of bf16; fp32 would round it onto the tie, and the tie then goes down.
  const double value = 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  CHECK(round_to(Dtype::bf16, value) == 1.0 + std::ldexp(1.0, -7));
  CHECK(round_to(Dtype::bf16, static_cast<float>(value)) == 1.0);
}

TEST_CASE("rounding agrees with the worker's for numbers that are fp32") {
  const Random random(3);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto value =
        static_cast<float>(random.normal(2 * i) *
                           std::ldexp(1.0, static_cast<int>(random.integer(2 * i + 1, -30, 20))));
    REQUIRE(bits16(Dtype::fp16, value) == onepass::worker::fp16_bits(value));
    REQUIRE(bits16(Dtype::bf16, value) == onepass::worker::bf16_bits(value));
  }
}

TEST_CASE("integers saturate") {
  CHECK(round_to(Dtype::int32, 1e12) == 2147483647.0);
  CHECK(round_to(Dtype::int32, -1e12) == -2147483648.0);
  CHECK(round_to(Dtype::int64, 2.5) == 2.0);
}

TEST_CASE("ulp is the distance to the neighbour") {
  CHECK(ulp(Dtype::fp32, 1.0) == std::ldexp(1.0, -23));
  CHECK(ulp(Dtype::fp32, -1.99) == std::ldexp(1.0, -23));
  CHECK(ulp(Dtype::fp16, 0.0) == std::ldexp(1.0, -24));
  CHECK(ulp(Dtype::bf16, 256.0) == 2.0);
  CHECK(ulp(Dtype::fp16, 1e9) == 32.0);
}

TEST_CASE("streams of random numbers are repeatable and independent") {
  const Random random(7);
  CHECK(random.stream("x").bits(5) == Random(7).stream("x").bits(5));
  CHECK(random.stream("x").bits(5) != random.stream("y").bits(5));
  CHECK(random.bits(0) != Random(8).bits(0));
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double value = random.normal(i);
    sum += value;
    squares += value * value;
    const std::int64_t drawn = random.integer(i, -2, 2);
    REQUIRE(drawn >= -2);
    REQUIRE(drawn <= 2);
  }
  CHECK(std::abs(sum / 10000.0) < 0.05);
  CHECK(std::abs(squares / 10000.0 - 1.0) < 0.05);
}

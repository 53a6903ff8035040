#include "verdict/values/random.h"

#include <cmath>
#include <numbers>

namespace onepass::verdict {
namespace {

/// The finaliser of Steele, Lea and Flood's SplitMix64: each bit of the result depends on each bit
/// of the argument.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <typename Number>
Matrix matrix_of(Dtype dtype, std::int64_t rows, std::int64_t cols, Number number) {
  Matrix result(dtype, rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      result.set(row, col, number(static_cast<std::uint64_t>(row * cols + col)));
    }
  }
  return result;
}

}  // namespace

Random Random::stream(std::string_view name) const {
  std::uint64_t key = mix(key_);
  for (const char letter : name) {
    key = mix(key ^ static_cast<unsigned char>(letter));
  }
  return Random(key);
}

std::uint64_t Random::bits(std::uint64_t i) const {
  return mix(mix(key_) ^ mix(i));
}

double Random::uniform(std::uint64_t i) const {
  return std::ldexp(static_cast<double>(bits(i) >> 11), -53);
}

double Random::normal(std::uint64_t i) const {
  // Box and Muller: two uniform numbers make one normal number. 1 - u is never 0.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(2 * i)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(2 * i + 1));
}

double Random::sign(std::uint64_t i) const {
  return (bits(i) >> 63) != 0 ? 1.0 : -1.0;
}

std::int64_t Random::integer(std::uint64_t i, std::int64_t low, std::int64_t high) const {
  const std::uint64_t count = static_cast<std::uint64_t>(high - low) + 1;  // 0: all 2^64
  const std::uint64_t drawn = count == 0 ? bits(i) : bits(i) % count;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn);
}

Matrix Random::normal_matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean,
                             double deviation) const {
  return matrix_of(dtype, rows, cols,
                   [&](std::uint64_t i) { return mean + deviation * normal(i); });
}

Matrix Random::uniform_matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, double low,
                              double high) const {
  return matrix_of(dtype, rows, cols,
                   [&](std::uint64_t i) { return low + (high - low) * uniform(i); });
}

}  // namespace onepass::verdict

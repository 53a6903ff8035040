#include "verdict/values/random.h"

#include <cmath>
#include <numbers>

#include "worker/hash_fill.h"

namespace onepass::verdict {

using worker::splitmix64;  // each bit of its result depends on each bit of the argument

Random Random::stream(std::string_view name) const {
  std::uint64_t key = splitmix64(key_);
  for (const char letter : name) {
    key = splitmix64(key ^ static_cast<unsigned char>(letter));
  }
  return Random(key);
}

std::uint64_t Random::bits(std::uint64_t i) const {
  return splitmix64(splitmix64(key_) ^ splitmix64(i));
}

double Random::uniform(std::uint64_t i) const {
  return static_cast<double>(bits(i) >> 11) * 0x1p-53;
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
  return matrix_of(dtype, rows, cols, [&](std::int64_t row, std::int64_t col) {
    return mean + deviation * normal(static_cast<std::uint64_t>(row * cols + col));
  });
}

Matrix Random::uniform_matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, double low,
                              double high) const {
  return matrix_of(dtype, rows, cols, [&](std::int64_t row, std::int64_t col) {
    return low + (high - low) * uniform(static_cast<std::uint64_t>(row * cols + col));
  });
}

}  // namespace onepass::verdict

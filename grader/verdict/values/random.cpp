#include "verdict/values/random.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>
#include <tuple>
#include <utility>

#include "worker/hash_fill.h"

namespace onepass::verdict {

namespace {

constexpr std::size_t kKept = 16;                          // matrices that were drawn last,
constexpr std::int64_t kMostKept = std::int64_t{1} << 18;  // of so many elements at most

}  // namespace

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
  // The calls of a sweep take the same numbers again and again.
  using Drawn = std::tuple<std::uint64_t, Dtype, std::int64_t, std::int64_t, double, double>;
  static std::deque<std::pair<Drawn, Matrix>> last;
  const Drawn wanted = {key_, dtype, rows, cols, mean, deviation};
  const auto known =
      std::find_if(last.begin(), last.end(), [&](const auto& one) { return one.first == wanted; });
  if (known != last.end()) {
    return known->second;
  }
  Matrix drawn = matrix_of(dtype, rows, cols, [&](std::int64_t row, std::int64_t col) {
    return mean + deviation * normal(static_cast<std::uint64_t>(row * cols + col));
  });
  if (drawn.size() <= kMostKept) {
    last.emplace_front(wanted, drawn);
    last.resize(std::min(last.size(), kKept));
  }
  return drawn;
}

Matrix Random::uniform_matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, double low,
                              double high) const {
  return matrix_of(dtype, rows, cols, [&](std::int64_t row, std::int64_t col) {
    return low + (high - low) * uniform(static_cast<std::uint64_t>(row * cols + col));
  });
}

}  // namespace onepass::verdict

// Numbers drawn from a seed. Counter-based: the i-th number of a stream is a function of (seed,
// stream, i) alone, so that a check draws the same numbers whether it runs alone or after others,
// and adding a check changes no other.
#pragma once

#include <cstdint>
#include <string_view>

#include "verdict/values/matrix.h"

namespace onepass::verdict {

class Random {
 public:
  explicit Random(std::uint64_t seed) : key_(seed) {}

  /// An independent stream of its own: random.stream("x"), random.stream("weight").
  Random stream(std::string_view name) const;

  /// The i-th number of this stream, as 64 random bits; uniform in [0, 1); normal with mean 0 and
  /// standard deviation 1; +1 or -1; an integer in [low, high], both included.
  std::uint64_t bits(std::uint64_t i) const;
  double uniform(std::uint64_t i) const;
  double normal(std::uint64_t i) const;
  double sign(std::uint64_t i) const;
  std::int64_t integer(std::uint64_t i, std::int64_t low, std::int64_t high) const;

  /// Matrices of such numbers, rounded to the dtype; element [r][c] takes number r * cols + c.
  Matrix normal_matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0,
                       double deviation = 1.0) const;
  Matrix uniform_matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, double low,
                        double high) const;

 private:
  std::uint64_t key_;
};

}  // namespace onepass::verdict

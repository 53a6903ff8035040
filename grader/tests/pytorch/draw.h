// Draw: random sizes, choices and tensors, one after the other, from one stream of random numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "verdict/contract/call.h"
#include "verdict/values/random.h"

namespace onepass::agreement {

using verdict::Dtype;
using verdict::Matrix;
using verdict::Random;
using verdict::contract::Place;

class Draw {
 public:
  explicit Draw(Random random) : random_(random) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return random_.integer(next_++, low, high);
  }
  bool coin() { return integer(0, 1) == 1; }

  /// From low to high, small sizes as often as large ones: 1 to 10 as often as 100 to 1000.
  std::int64_t size(std::int64_t low, std::int64_t high) {
    const double ratio = static_cast<double>(high + 1) / static_cast<double>(low);
    const double drawn = static_cast<double>(low) * std::pow(ratio, random_.uniform(next_++));
    return std::min(high, static_cast<std::int64_t>(drawn));
  }

  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }

  Matrix normal(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0,
                double deviation = 1.0) {
    return numbers().normal_matrix(dtype, rows, cols, mean, deviation);
  }
  Matrix uniform(Dtype dtype, std::int64_t rows, std::int64_t cols, double low, double high) {
    return numbers().uniform_matrix(dtype, rows, cols, low, high);
  }

  /// Rows that touch, or rows apart, at any address.
  Place place() { return coin() ? Place{} : Place{integer(0, 40), integer(0, 9)}; }

 private:
  /// A tensor takes a stream of its own: drawing one more size before it changes no other tensor.
  Random numbers() { return Random(random_.bits(next_++)); }

  Random random_;
  std::uint64_t next_ = 0;
};

/// A matrix for a norm along its rows.
struct Size {
  std::int64_t rows, cols;
};

/// The wider, the fewer rows, so that no case is much larger than the others.
inline Size draw_size(Draw& draw, std::int64_t most_cols) {
  const std::int64_t cols = draw.size(1, most_cols);
  return {draw.size(1, std::max<std::int64_t>(1, std::min<std::int64_t>(200, 30000 / cols))), cols};
}

}  // namespace onepass::agreement

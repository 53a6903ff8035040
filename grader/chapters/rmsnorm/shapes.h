// The inputs that chapter 1's checks share.
#pragma once

#include "chapters/common/shapes.h"
#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {

inline constexpr double kEps = 1e-6;

inline Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0,
                       double deviation = 1.0) {
  return random_tensor("x", dtype, rows, cols, mean, deviation);
}

}  // namespace onepass::rmsnorm

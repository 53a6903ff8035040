// The inputs that chapter 1's checks share.
#include "chapters/rmsnorm/shapes.h"

namespace onepass::rmsnorm {

Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean, double deviation) {
  return numbers("x", dtype, rows, cols).normal_matrix(dtype, rows, cols, mean, deviation);
}

Matrix random_weight(Dtype dtype, std::int64_t cols) {
  return numbers("weight", dtype, 1, cols).uniform_matrix(dtype, 1, cols, 0.5, 1.5);
}

}  // namespace onepass::rmsnorm

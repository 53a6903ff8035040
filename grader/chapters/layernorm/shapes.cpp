// The inputs that chapter 2's checks share.
#include "chapters/layernorm/shapes.h"

namespace onepass::layernorm {

Matrix random_bias(Dtype dtype, std::int64_t cols) {
  return numbers("bias", dtype, 1, cols).uniform_matrix(dtype, 1, cols, -2.0, -1.0);
}

Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean) {
  return gradients(random_tensor("dy", dtype, rows, cols, 0.3),
                   random_tensor("x", dtype, rows, cols, mean, 2.0), random_weight(dtype, cols));
}

}  // namespace onepass::layernorm

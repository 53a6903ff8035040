#include "chapters/rmsnorm/bounds.h"

#include <cmath>

namespace onepass::rmsnorm {

using namespace verdict::bounds;

// All terms of sum(x^2) are positive, so that its error is relative. The mean (1 division), eps
// (1 addition, which can only make the relative error smaller) and rsqrtf (2 ULP = 4 u on a GPU)
// follow; the root halves what stood under it: u * (k + 2) / 2 + 4u + 1u for a separate reciprocal
// and root.
double rstd_bound(std::int64_t cols, double rstd) {
  return u * (sum_of_squares(cols) / 2.0 + 6.0) * std::abs(rstd) + kFlushed;
}

// Two multiplications more than rstd, each u.
double y_bound(verdict::Dtype dtype, std::int64_t cols, double y) {
  return rounded(dtype, y, u * (sum_of_squares(cols) / 2.0 + 8.0) * std::abs(y));
}

}  // namespace onepass::rmsnorm

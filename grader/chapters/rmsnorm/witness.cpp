// Derivatives of RMSNorm as differences of the fp64 forward pass.
#include "chapters/rmsnorm/witness.h"

#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {
namespace {

/// The sum of dy * y over all rows and columns.
double loss(const Field& dy, const Field& x, const Field& weight, double eps) {
  double sum = 0.0;
  for (const double term : product(dy, rmsnorm_y(x, weight, eps)).values) {
    sum += term;
  }
  return sum;
}

}  // namespace

Field dx_by_differences(const Field& dy, const Field& x, const Field& weight, double eps) {
  return common::by_differences(x, [&](std::int64_t row, const Field& x_row) {
    return loss(common::row_of(dy, row), x_row, weight, eps);
  });
}

Field dweight_by_differences(const Field& dy, const Field& x, const Field& weight, double eps) {
  return common::by_differences(
      weight, [&](std::int64_t, const Field& moved) { return loss(dy, x, moved, eps); });
}

}  // namespace onepass::rmsnorm

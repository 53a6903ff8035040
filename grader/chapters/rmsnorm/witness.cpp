// Derivatives of RMSNorm as differences of the fp64 forward pass.
#include "chapters/rmsnorm/witness.h"

#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {
namespace {

constexpr double kStep = 1e-5;

/// The sum of dy * y over all rows and columns.
double loss(const Field& dy, const Field& x, const Field& weight, double eps) {
  const Field y = rmsnorm_forward(x, weight, eps).y;
  double sum = 0.0;
  for (std::int64_t row = 0; row < y.rows; ++row) {
    for (std::int64_t col = 0; col < y.cols; ++col) {
      sum += dy(row, col) * y(row, col);
    }
  }
  return sum;
}

Field row_of(const Field& field, std::int64_t row) {
  Field one(1, field.cols);
  for (std::int64_t col = 0; col < field.cols; ++col) {
    one(0, col) = field(row, col);
  }
  return one;
}

}  // namespace

Field dx_by_differences(const Field& dy, const Field& x, const Field& weight, double eps) {
  Field dx(x.rows, x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const Field row_dy = row_of(dy, row);
    for (std::int64_t col = 0; col < x.cols; ++col) {
      Field moved = row_of(x, row);
      moved(0, col) = x(row, col) + kStep;
      const double above = loss(row_dy, moved, weight, eps);
      moved(0, col) = x(row, col) - kStep;
      dx(row, col) = (above - loss(row_dy, moved, weight, eps)) / (2.0 * kStep);
    }
  }
  return dx;
}

Field dweight_by_differences(const Field& dy, const Field& x, const Field& weight, double eps) {
  Field dweight(1, x.cols);
  for (std::int64_t col = 0; col < x.cols; ++col) {
    Field moved = weight;
    moved(0, col) = weight(0, col) + kStep;
    const double above = loss(dy, x, moved, eps);
    moved(0, col) = weight(0, col) - kStep;
    dweight(0, col) = (above - loss(dy, x, moved, eps)) / (2.0 * kStep);
  }
  return dweight;
}

}  // namespace onepass::rmsnorm

// The fp64 reference of chapter 1.
#include "chapters/rmsnorm/reference.h"

#include <cmath>

namespace onepass::rmsnorm {

Field row_sums(const Field& x) {
  Field sums(x.rows, 1);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      sums(row, 0) += x(row, col);
    }
  }
  return sums;
}

Field rms_rstd(const Field& x, double eps) {
  Field rstd(x.rows, 1);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    double squares = 0.0;
    for (std::int64_t col = 0; col < x.cols; ++col) {
      squares += x(row, col) * x(row, col);
    }
    const double mean = squares / static_cast<double>(x.cols);
    rstd(row, 0) = 1.0 / std::sqrt(mean + eps);
  }
  return rstd;
}

Field scaled(const Field& x, const Field& rstd, const Field& weight) {
  Field y(x.rows, x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      y(row, col) = x(row, col) * rstd(row, 0) * weight(0, col);
    }
  }
  return y;
}

Forward rmsnorm_forward(const Field& x, const Field& weight, double eps) {
  const Field rstd = rms_rstd(x, eps);
  return {scaled(x, rstd, weight), rstd};
}

}  // namespace onepass::rmsnorm

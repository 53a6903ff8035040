// The fp64 reference of chapter 2.
#include "chapters/layernorm/reference.h"

#include <cmath>

namespace onepass::layernorm {

Field row_variances(const Field& x, const Field& mean) {
  Field squares(x.rows, x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      const double centred = x(row, col) - mean(row, 0);
      squares(row, col) = centred * centred;
    }
  }
  return row_means(squares);
}

Field rstd_of(const Field& variance, double eps) {
  return verdict::field_of(variance.rows, 1, [&](std::int64_t row, std::int64_t) {
    return 1.0 / std::sqrt(variance(row, 0) + eps);
  });
}

Statistics statistics(const Field& x, double eps) {
  const Field mean = row_means(x);
  return {mean, rstd_of(row_variances(x, mean), eps)};
}

Field normalized(const Field& x, const Field& mean, const Field& rstd) {
  return verdict::field_of(x.rows, x.cols, [&](std::int64_t row, std::int64_t col) {
    return (x(row, col) - mean(row, 0)) * rstd(row, 0);
  });
}

Field scaled_and_shifted(const Field& x_hat, const Field& weight, const Field& bias) {
  return verdict::field_of(x_hat.rows, x_hat.cols, [&](std::int64_t row, std::int64_t col) {
    return x_hat(row, col) * weight(0, col) + bias(0, col);
  });
}

Field row_gradient(const Field& wdy, const Field& x_hat, const Field& rstd, const Field& mean_wdy,
                   const Field& mean_wdy_hat) {
  return verdict::field_of(wdy.rows, wdy.cols, [&](std::int64_t row, std::int64_t col) {
    return rstd(row, 0) *
           (wdy(row, col) - mean_wdy(row, 0) - x_hat(row, col) * mean_wdy_hat(row, 0));
  });
}

Field backward_dx(const Field& wdy, const Field& x_hat, const Field& rstd) {
  return row_gradient(wdy, x_hat, rstd, row_means(wdy), row_means(product(wdy, x_hat)));
}

}  // namespace onepass::layernorm

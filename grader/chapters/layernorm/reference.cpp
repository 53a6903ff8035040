// The fp64 reference of chapter 2.
#include "chapters/layernorm/reference.h"

namespace onepass::layernorm {

Statistics statistics(const Field& x, double eps) {
  return *common::statistics({.x = x, .eps = eps});
}

Field normalized(const Field& x, const Field& mean, const Field& rstd) {
  return verdict::field_of(x.rows, x.cols, [&](std::int64_t row, std::int64_t col) {
    return (x(row, col) - mean(row, 0)) * rstd(row, 0);
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

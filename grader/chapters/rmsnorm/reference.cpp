// The fp64 reference of chapter 1.
#include "chapters/rmsnorm/reference.h"

#include "chapters/common/forward.h"

namespace onepass::rmsnorm {

Field rms_rstd(const Field& x, double eps) {
  return *common::forward({.x = x, .eps = eps, .centred = false}, "rstd");
}

Field rmsnorm_y(const Field& x, const Field& weight, double eps) {
  return *common::forward({.x = x, .eps = eps, .centred = false, .weight = weight}, "y");
}

Field added(const Field& a, const Field& b) {
  Field sum = a;
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] += b.values[i];
  }
  return sum;
}

Field rounded_x_hat(verdict::Dtype dtype, const Field& x, const Field& rstd) {
  Field x_hat = product(x, rstd);
  for (double& value : x_hat.values) {
    value = verdict::round_to(dtype, verdict::round_to(verdict::Dtype::fp32, value));
  }
  return x_hat;
}

Field row_gradient(const Field& wdy, const Field& x_hat, const Field& rstd,
                   const Field& mean_wdy_hat) {
  return verdict::field_of(wdy.rows, wdy.cols, [&](std::int64_t row, std::int64_t col) {
    return rstd(row, 0) * (wdy(row, col) - x_hat(row, col) * mean_wdy_hat(row, 0));
  });
}

Field backward_dx(const Field& wdy, const Field& x_hat, const Field& rstd) {
  return row_gradient(wdy, x_hat, rstd, row_means(product(wdy, x_hat)));
}

}  // namespace onepass::rmsnorm

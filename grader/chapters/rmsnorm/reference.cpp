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

Field added(const Field& a, const Field& b) {
  Field sum = a;
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] += b.values[i];
  }
  return sum;
}

Field product(const Field& a, const Field& b) {
  Field result(a.rows, a.cols);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t col = 0; col < a.cols; ++col) {
      result(row, col) = a(row, col) * b(b.rows == 1 ? 0 : row, b.cols == 1 ? 0 : col);
    }
  }
  return result;
}

Field rounded_x_hat(verdict::Dtype dtype, const Field& x, const Field& rstd) {
  Field x_hat = product(x, rstd);
  for (double& value : x_hat.values) {
    value = verdict::round_to(dtype, verdict::round_to(verdict::Dtype::fp32, value));
  }
  return x_hat;
}

Field row_means(const Field& values) {
  Field means = row_sums(values);
  for (double& mean : means.values) {
    mean /= static_cast<double>(values.cols);
  }
  return means;
}

Field row_gradient(const Field& wdy, const Field& x_hat, const Field& rstd,
                   const Field& mean_wdy_hat) {
  Field dx(wdy.rows, wdy.cols);
  for (std::int64_t row = 0; row < wdy.rows; ++row) {
    for (std::int64_t col = 0; col < wdy.cols; ++col) {
      dx(row, col) = rstd(row, 0) * (wdy(row, col) - x_hat(row, col) * mean_wdy_hat(row, 0));
    }
  }
  return dx;
}

Field backward_dx(const Field& wdy, const Field& x_hat, const Field& rstd) {
  return row_gradient(wdy, x_hat, rstd, row_means(product(wdy, x_hat)));
}

Field column_sums(const Field& terms) {
  Field sums(1, terms.cols);
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      sums(0, col) += terms(row, col);
    }
  }
  return sums;
}

}  // namespace onepass::rmsnorm

#include "chapters/layernorm/bounds.h"

#include <cmath>

namespace onepass::layernorm {

using namespace verdict::bounds;

// A sum over the row divided by cols, so row_sum() / cols; call it d.
double mean_bound(const RowStatistics& row) {
  return u * summation(row.cols) * row.mean_magnitude + kFlushed;
}

namespace {

// With a mean that is off by d, the mean of (x - mean - d)^2 is variance + d^2, since the
// deviations add up to 0. Welford's running mean is off by d at each step, against the deviation of
// that step: 2 * d * deviation at most. The sum of squares has its own relative error. rstd =
// v^(-1/2), so half of the relative error of v = variance + eps is rstd's. E[x^2] - E[x]^2 instead
// loses u * mean^2 of the variance: at mean = 1000 deviations that is 1000 / k times as much.
double relative_rstd_error(const RowStatistics& row) {
  const double mean_error = mean_bound(row) * row.rstd;
  const double deviation = row.deviation * row.rstd;  // at most 1
  return u * (sum_of_squares(row.cols) / 2.0 + 6.0) + mean_error * deviation +
         mean_error * mean_error / 2.0;
}

}  // namespace

double rstd_bound(const RowStatistics& row) {
  return relative_rstd_error(row) * row.rstd + kFlushed;
}

// x - mean: the mean is off by d, and the subtraction rounds by u * |x - mean|, or, as
// x * rstd - mean * rstd, by u * |x| * rstd. Then rstd's error, and a rounding for each of the two
// multiplications and the addition.
double y_bound(verdict::Dtype dtype, const RowStatistics& row, double x, double x_hat,
               double weight, double bias) {
  const double centred = (mean_bound(row) + 2.0 * u * std::abs(x)) * row.rstd;
  const double scaled = std::abs(x_hat) * (relative_rstd_error(row) + 3.0 * u);
  const double y = x_hat * weight + bias;
  const double error = std::abs(weight) * (centred + scaled) +
                       u * (2.0 * std::abs(weight * x_hat) + 2.0 * std::abs(bias) + std::abs(y));
  return rounded(dtype, y, error);
}

}  // namespace onepass::layernorm

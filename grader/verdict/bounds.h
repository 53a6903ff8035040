// How far an honest fp32 kernel may be from the fp64 reference: all bounds of all chapters, each
// with its derivation beside its code (bounds.cpp).
//
// All of them share
//     u = 2^-24            the relative error of one fp32 operation
//     k = sqrt(cols) + 8   what adding up cols terms costs, in units of u times the sum of
//     magnitudes
// k is statistical, not the worst case (cols): rounding errors are as often up as down. So a check
// must not make them all point one way, as one huge element followed by thousands of tiny ones
// would.
//
// A bound is on |got - reference|, where the reference is computed in fp64 from the inputs as they
// were rounded to their dtype, and is itself not rounded.
#pragma once

#include <cstdint>

#include "verdict/values/dtype.h"

namespace onepass::verdict::bounds {

/// k as above.
double summation(std::int64_t terms);

/// One rounding to `dtype` of a number whose fp32 computation is off by at most `error`.
double rounded(Dtype dtype, double value, double error);

/// A result of one operation, as any correct kernel rounds it to its dtype: there is only one.
double rounded_once(double value);

/// The sum of a row, added up in fp32 in any order and stored as fp32. sum_of_magnitudes: of |x|.
double row_sum(std::int64_t cols, double sum_of_magnitudes);

/// RMSNorm: rstd = 1 / sqrt(mean(x^2) + eps), stored as fp32.
double rmsnorm_rstd(std::int64_t cols, double rstd);

/// RMSNorm: y = x * rstd * weight, in fp32, rounded to `dtype` once.
double rmsnorm_y(Dtype dtype, std::int64_t cols, double y);

/// What one element of RMSNorm's dx is made of.
struct RmsnormGradient {
  std::int64_t cols = 0;
  double rstd = 0.0;
  double mean_wdy_hat = 0.0;            // mean over the row of wdy * x_hat
  double mean_wdy_hat_magnitude = 0.0;  // mean over the row of |wdy * x_hat|
  double wdy = 0.0;
  double x_hat = 0.0;
};

/// RMSNorm: dx = rstd * (wdy - x_hat * mean(wdy * x_hat)) in fp32, rounded to `dtype` once.
double rmsnorm_dx(Dtype dtype, const RmsnormGradient& element, double dx);

/// RoPE: a' = a * cos - b * sin, in fp32, rounded to `dtype` once. length: sqrt(a^2 + b^2) *
/// sqrt(cos^2 + sin^2), of the pair and of its angle.
double rope(Dtype dtype, double value, double length);

/// BatchNorm's inputs as the bounds see them: of one channel, `count` elements.
struct Channel {
  std::int64_t count = 0;
  double mean_magnitude = 0.0;  // mean of |x|
  double variance = 0.0;        // biased, about the mean
};

/// BatchNorm: the mean and the biased variance of a channel, as fp32.
double batchnorm_mean(const Channel& channel);
double batchnorm_variance(const Channel& channel);

/// BatchNorm: rstd = 1 / sqrt(variance + eps), from that variance.
double batchnorm_rstd(const Channel& channel, double rstd);

/// BatchNorm: running = (1 - momentum) * old + momentum * batch, where `error` is that of `batch`.
double batchnorm_running(double momentum, double old, double batch, double error);

/// What one element of y is made of: y = (x - mean) * rstd * weight + bias.
struct Normalized {
  double x, mean, rstd, weight, bias, y;
  double mean_error = 0.0;  // absolute, of mean and of rstd
  double rstd_error = 0.0;
};

/// BatchNorm: y, in fp32, rounded to `dtype` once.
double batchnorm_y(Dtype dtype, const Normalized& element);

// ---- LayerNorm ----

/// What the rounding errors of LayerNorm's row statistics depend on.
struct RowStatistics {
  std::int64_t cols = 0;
  double mean_magnitude = 0.0;  // mean of |x|
  double deviation = 0.0;       // sqrt(mean((x - mean)^2))
  double rstd = 0.0;            // 1 / sqrt(deviation^2 + eps)
};

/// mean = mean(x), stored as fp32.
double layernorm_mean(const RowStatistics& row);

/// rstd, stored as fp32, from a variance without cancellation (two passes, or Welford).
double layernorm_rstd(const RowStatistics& row);

/// y = x_hat * weight + bias in fp32, rounded to `dtype` once.
double layernorm_y(Dtype dtype, const RowStatistics& row, double x, double x_hat, double weight,
                   double bias);

/// x_hat = (x - mean) * rstd in fp32, in either form: (x - mean) * rstd or x * rstd - mean * rstd.
double layernorm_x_hat(double x, double mean, double rstd);

/// Means over a row of `cols` columns, for dx.
struct RowGradient {
  std::int64_t cols = 0;
  double rstd = 0.0;
  double mean_wdy = 0.0;            // mean(wdy)
  double mean_wdy_hat = 0.0;        // mean(wdy * x_hat)
  double mean_wdy_magnitude = 0.0;  // mean(|wdy|)
  double mean_wdy_hat_error = 0.0;  // mean(|wdy| * (|x_hat| + (|x| + |mean|) * rstd))
};

/// dx = rstd * (wdy - mean(wdy) - x_hat * mean(wdy * x_hat)) in fp32, rounded to `dtype` once.
/// x_hat_error: layernorm_x_hat().
double layernorm_dx(Dtype dtype, const RowGradient& row, double dx, double wdy, double x_hat,
                    double x_hat_error);

/// The sum of a column over `rows` rows, in fp32 in any order, rounded to `dtype` once.
/// sum_of_magnitudes: of the terms; for terms that are themselves rounded, of what u multiplies.
double column_sum(Dtype dtype, std::int64_t rows, double sum, double sum_of_magnitudes);

}  // namespace onepass::verdict::bounds

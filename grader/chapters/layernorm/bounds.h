// How far an honest fp32 LayerNorm may be from the reference (verdict/bounds.h).
#pragma once

#include "verdict/bounds.h"

namespace onepass::layernorm {

/// What the rounding errors of a row's statistics depend on.
struct RowStatistics {
  std::int64_t cols = 0;
  double mean_magnitude = 0.0;  // mean of |x|
  double deviation = 0.0;       // sqrt(mean((x - mean)^2))
  double rstd = 0.0;            // 1 / sqrt(deviation^2 + eps)
};

/// mean = mean(x), stored as fp32.
double mean_bound(const RowStatistics& row);

/// rstd, stored as fp32, from a variance without cancellation (two passes, or Welford).
double rstd_bound(const RowStatistics& row);

/// y = x_hat * weight + bias in fp32, rounded to `dtype` once.
double y_bound(verdict::Dtype dtype, const RowStatistics& row, double x, double x_hat,
               double weight, double bias);

}  // namespace onepass::layernorm

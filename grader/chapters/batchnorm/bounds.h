// How far an honest fp32 batch normalisation may be from the reference (verdict/bounds.h).
#pragma once

#include "verdict/bounds.h"

namespace onepass::batchnorm {

/// What the rounding errors of a channel's statistics depend on: `count` elements.
struct Channel {
  std::int64_t count = 0;
  double mean_magnitude = 0.0;  // mean of |x|
  double variance = 0.0;        // biased, about the mean
};

/// The mean and the biased variance, as fp32.
double mean_bound(const Channel& channel);
double variance_bound(const Channel& channel);

/// rstd = 1 / sqrt(variance + eps), from that variance.
double rstd_bound(const Channel& channel, double rstd);

/// running = (1 - momentum) * old + momentum * batch, where `error` is that of `batch`.
double running_bound(double momentum, double old, double batch, double error);

/// What one element of y is made of: y = (x - mean) * rstd * weight + bias.
struct Normalized {
  double x, mean, rstd, weight, bias, y;
  double mean_error = 0.0;  // absolute, of mean and of rstd
  double rstd_error = 0.0;
};

/// y, in fp32, rounded to `dtype` once.
double y_bound(verdict::Dtype dtype, const Normalized& element);

}  // namespace onepass::batchnorm

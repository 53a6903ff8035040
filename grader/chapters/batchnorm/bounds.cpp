#include "chapters/batchnorm/bounds.h"

#include <cmath>

namespace onepass::batchnorm {

using namespace verdict::bounds;

// A sum of count terms (row_sum), divided once. 2 u for a mean that is updated term by term
// (Welford), whose every step rounds the mean.
double mean_bound(const Channel& channel) {
  return u * (summation(channel.count) + 2.0) * channel.mean_magnitude + kFlushed;
}

// The squares (x - m)^2 about a mean m that is off by d: their mean is variance + d^2. Each square
// is off by 3 u of itself, their sum by u k. Where the mean is updated as the terms come (Welford,
// or partial results merged), its rounding errors, u |mean| each, meet x - mean with random signs:
// 4 u |mean| sqrt(variance) in all. mean(x^2) - mean(x)^2 is off by u k mean(x^2), which is far
// beyond it where the mean is large.
double variance_bound(const Channel& channel) {
  const double spread = std::sqrt(channel.variance);
  const double off = mean_bound(channel);
  return u * (sum_of_squares(channel.count) + 4.0) * channel.variance + off * off +
         4.0 * u * channel.mean_magnitude * spread + kFlushed;
}

// d rstd / d variance = -rstd^3 / 2; eps, and rsqrtf or a root and a reciprocal, add 5 u.
double rstd_bound(const Channel& channel, double rstd) {
  const double from_variance = 0.5 * rstd * rstd * rstd * variance_bound(channel);
  return from_variance + 5.0 * u * std::abs(rstd) + kFlushed;
}

// 1 - momentum, two products and a sum. In old + momentum * (batch - old) a large old takes digits
// from batch that it has no share in: with momentum 1 none of it is left to be asked for.
double running_bound(double momentum, double old, double batch, double error) {
  const double kept = (1.0 - momentum) * std::abs(old);
  return momentum * error + 4.0 * u * (kept + momentum * std::abs(batch)) + kFlushed;
}

// Either as it stands, four operations; or with the constants of a channel put together first,
//     y = x * scale + shift,  scale = rstd * weight,  shift = bias - mean * scale,
// where the errors are in proportion to x * scale and mean * scale, each several u.
double y_bound(verdict::Dtype dtype, const Normalized& element) {
  const double scale = std::abs(element.rstd * element.weight);
  const double centred = std::abs(element.x - element.mean);
  const double terms = scale * (std::abs(element.x) + std::abs(element.mean));
  const double error = scale * element.mean_error +
                       centred * std::abs(element.weight) * element.rstd_error +
                       u * (4.0 * terms + 2.0 * std::abs(element.bias) + std::abs(element.y));
  return rounded(dtype, element.y, error);
}

}  // namespace onepass::batchnorm

#include "verdict/bounds.h"

#include <cmath>

namespace onepass::verdict::bounds {
namespace {

const double u = std::ldexp(1.0, -24);  // half the distance from 1.0f to its neighbour

// Below its smallest normal number fp32 may be flushed to zero. Every chapter computes in fp32,
// whatever it stores.
const double flushed = std::ldexp(1.0, -126);

// The relative error of sum(x^2), in units of u. Besides the random walk: 16-bit numbers around a
// mean of 100 have few different squares, whose roundings do not average out but all point the same
// way. The worst that could come of it is cols / 2 (each addition off by u times a partial sum,
// which is half the sum on average); adding up one by one in a single thread came to cols / 10.
double sum_of_squares(std::int64_t cols) {
  return summation(cols) + static_cast<double>(cols) / 8.0;
}

}  // namespace

// Adding n terms makes at most n - 1 rounding errors, each at most u times a partial sum. They are
// as often up as down, so they add up like a random walk: sqrt(n) of them. The 8 covers short rows,
// where a walk of few steps may well run one way, and the rounding of the terms themselves (a
// square).
double summation(std::int64_t terms) {
  return std::sqrt(static_cast<double>(terms)) + 8.0;
}

// 16 bits: an fp32 result r has |r - value| <= error. Rounding r once adds half an ULP of the type,
// as large as it is at |value| + error. A result rounded twice, or rounded before it is multiplied,
// is further off: that is how a wrong cast order is seen. fp32: the computation is in the type
// itself, so that its last rounding is already counted; the ULP is room for a different but honest
// order.
double rounded(Dtype dtype, double value, double error) {
  const double place = ulp(dtype, std::abs(value) + error);
  return error + (dtype == Dtype::fp32 ? place : 0.5 * place) + flushed;
}

// IEEE 754 leaves no choice for a single operation. Where the type has 16 bits the fp32 result may
// be rounded again, and comes out the same: fp32 has at least twice as many digits and two more,
// and then rounding a sum twice does no harm. Below the normal numbers it may be flushed to zero.
double rounded_once(double value) {
  return u * u * std::abs(value) + flushed;
}

// |error| <= u * k * sum|x|: each partial sum is at most sum|x| in size. The stored sum is fp32.
double row_sum(std::int64_t cols, double sum_of_magnitudes) {
  return u * summation(cols) * sum_of_magnitudes + flushed;
}

// All terms of sum(x^2) are positive, so the error above is relative. The mean (1 division), eps
// (1 addition, which can only make the relative error smaller) and rsqrtf (2 ULP = 4 u on a GPU)
// follow; the root halves what stood under it: u * (k + 2) / 2 + 4u + 1u for a separate reciprocal
// and root.
double rmsnorm_rstd(std::int64_t cols, double rstd) {
  return u * (sum_of_squares(cols) / 2.0 + 6.0) * std::abs(rstd) + flushed;
}

// Two multiplications more than rstd, each u.
double rmsnorm_y(Dtype dtype, std::int64_t cols, double y) {
  return rounded(dtype, y, u * (sum_of_squares(cols) / 2.0 + 8.0) * std::abs(y));
}

// rstd is given, so that x_hat is off by one rounding, and so is wdy. The mean errs like a sum over
// the row: u * k times the mean magnitude of its terms, whose own roundings are in k. Then come
// roundings of the products and the difference; the form rstd * wdy - x * (rstd^3 * mean(wdy * x))
// has two more of them than the one above.
double rmsnorm_dx(Dtype dtype, const RmsnormGradient& element, double dx) {
  const double mean = u * summation(element.cols) * element.mean_wdy_hat_magnitude;
  const double product = std::abs(element.x_hat * element.mean_wdy_hat);
  const double inside =
      std::abs(element.x_hat) * mean + 4.0 * u * (std::abs(element.wdy) + product);
  return rounded(dtype, dx, std::abs(element.rstd) * inside + 2.0 * u * std::abs(dx));
}

// Two products and their sum. Each product is off by u times itself, and |a cos| + |b sin| <=
// length (Cauchy and Schwarz); the sum is off by u times |value| <= length. With a fused
// multiply-add one of them is missing. The products' errors are independent of each other, so 2 u
// length is seldom reached; it is the worst case nevertheless.
double rope(Dtype dtype, double value, double length) {
  return rounded(dtype, value, 2.0 * u * length);
}

// A sum of count terms (row_sum), divided once. 2 u for a mean that is updated term by term
// (Welford), whose every step rounds the mean.
double batchnorm_mean(const Channel& channel) {
  return u * (summation(channel.count) + 2.0) * channel.mean_magnitude + flushed;
}

// The squares (x - m)^2 about a mean m that is off by d: their mean is variance + d^2. Each square
// is off by 3 u of itself, their sum by u k. Where the mean is updated as the terms come (Welford,
// or partial results merged), its rounding errors, u |mean| each, meet x - mean with random signs:
// 4 u |mean| sqrt(variance) in all. mean(x^2) - mean(x)^2 is off by u k mean(x^2), which is far
// beyond it where the mean is large.
double batchnorm_variance(const Channel& channel) {
  const double spread = std::sqrt(channel.variance);
  const double off = batchnorm_mean(channel);
  return u * (summation(channel.count) + 4.0) * channel.variance + off * off +
         4.0 * u * channel.mean_magnitude * spread + flushed;
}

// d rstd / d variance = -rstd^3 / 2; eps, and rsqrtf or a root and a reciprocal, add 5 u.
double batchnorm_rstd(const Channel& channel, double rstd) {
  const double from_variance = 0.5 * rstd * rstd * rstd * batchnorm_variance(channel);
  return from_variance + 5.0 * u * std::abs(rstd) + flushed;
}

// 1 - momentum, two products and a sum; or old + momentum * (batch - old).
double batchnorm_running(double momentum, double old, double batch, double error) {
  return momentum * error + 4.0 * u * (std::abs(old) + momentum * std::abs(batch)) + flushed;
}

// Either as it stands, four operations; or with the constants of a channel put together first, y =
// x
// * scale + shift with scale = rstd * weight and shift = bias - mean * scale, where the errors are
// in proportion to x * scale and mean * scale, each several u.
double batchnorm_y(Dtype dtype, const Normalized& element) {
  const double scale = std::abs(element.rstd * element.weight);
  const double centred = std::abs(element.x - element.mean);
  const double terms = scale * (std::abs(element.x) + std::abs(element.mean));
  const double error = scale * element.mean_error +
                       centred * std::abs(element.weight) * element.rstd_error +
                       u * (4.0 * terms + 2.0 * std::abs(element.bias) + std::abs(element.y));
  return rounded(dtype, element.y, error);
}

// mean: a sum over the row divided by cols, so row_sum() / cols; call it d.
double layernorm_mean(const RowStatistics& row) {
  return u * summation(row.cols) * row.mean_magnitude + flushed;
}

namespace {

// With a mean that is off by d, the mean of (x - mean - d)^2 is variance + d^2, since the
// deviations add up to 0. Welford's running mean is off by d at each step, against the deviation of
// that step: 2 * d * deviation at most. The sum of squares has its own relative error. rstd =
// v^(-1/2), so half of the relative error of v = variance + eps is rstd's. E[x^2] - E[x]^2 instead
// loses u * mean^2 of the variance: at mean = 1000 deviations that is 1000 / k times as much.
double layernorm_rstd_relative(const RowStatistics& row) {
  const double mean_error = layernorm_mean(row) * row.rstd;
  const double deviation = row.deviation * row.rstd;  // at most 1
  return u * (sum_of_squares(row.cols) / 2.0 + 6.0) + mean_error * deviation +
         mean_error * mean_error / 2.0;
}

}  // namespace

double layernorm_rstd(const RowStatistics& row) {
  return layernorm_rstd_relative(row) * row.rstd + flushed;
}

// x - mean: the mean is off by d, and the subtraction rounds by u * |x - mean|, or, as
// x * rstd - mean * rstd, by u * |x| * rstd. Then rstd's error, and a rounding for each of the two
// multiplications and the addition.
double layernorm_y(Dtype dtype, const RowStatistics& row, double x, double x_hat, double weight,
                   double bias) {
  const double centred = (layernorm_mean(row) + 2.0 * u * std::abs(x)) * row.rstd;
  const double scaled = std::abs(x_hat) * (layernorm_rstd_relative(row) + 3.0 * u);
  const double y = x_hat * weight + bias;
  const double error = std::abs(weight) * (centred + scaled) +
                       u * (2.0 * std::abs(weight * x_hat) + 2.0 * std::abs(bias) + std::abs(y));
  return rounded(dtype, y, error);
}

double layernorm_x_hat(double x, double mean, double rstd) {
  const double x_hat = (x - mean) * rstd;
  return u * (3.0 * std::abs(x_hat) + (std::abs(x) + std::abs(mean)) * std::abs(rstd));
}

// The two means err like sums over the row: u * k times the mean magnitude of what is added, where
// that of wdy * x_hat includes x_hat's own rounding (an honest kernel may sum wdy * x and subtract
// mean * sum(wdy)). Then x_hat's error against mean_wdy_hat, and the roundings of the products and
// differences.
double layernorm_dx(Dtype dtype, const RowGradient& row, double dx, double wdy, double x_hat,
                    double x_hat_error) {
  const double k = u * summation(row.cols);
  const double means = k * (row.mean_wdy_magnitude + std::abs(x_hat) * row.mean_wdy_hat_error);
  const double product = std::abs(x_hat * row.mean_wdy_hat);
  const double roundings = 4.0 * u * (std::abs(wdy) + std::abs(row.mean_wdy) + product);
  const double inside = means + std::abs(row.mean_wdy_hat) * x_hat_error + roundings;
  return rounded(dtype, dx, std::abs(row.rstd) * inside + 2.0 * u * std::abs(dx));
}

double column_sum(Dtype dtype, std::int64_t rows, double sum, double sum_of_magnitudes) {
  return rounded(dtype, sum, u * summation(rows) * sum_of_magnitudes);
}

}  // namespace onepass::verdict::bounds

#include "verdict/bounds.h"

#include <cmath>

namespace onepass::verdict::bounds {

// Adding n terms makes at most n - 1 rounding errors, each at most u times a partial sum. They are
// as often up as down, so they add up like a random walk: sqrt(n) of them. The 8 covers short rows,
// where a walk of few steps may well run one way, and the rounding of the terms themselves (a
// square).
double summation(std::int64_t terms) {
  return std::sqrt(static_cast<double>(terms)) + 8.0;
}

// Besides the random walk: 16-bit numbers around a mean of 100 have few different squares, whose
// roundings do not average out but all point the same way. The worst that could come of it is n / 2
// (each addition off by u times a partial sum, which is half the sum on average); adding up one by
// one in a single thread came to n / 10.
double sum_of_squares(std::int64_t terms) {
  return summation(terms) + static_cast<double>(terms) / 8.0;
}

// 16 bits: an fp32 result r has |r - value| <= error. Rounding r once adds half an ULP of the type,
// as large as it is at |value| + error. A result rounded twice, or rounded before it is multiplied,
// is further off: that is how a wrong cast order is seen. fp32: the computation is in the type
// itself, so that its last rounding is already counted; the ULP is room for a different but honest
// order.
double rounded(Dtype dtype, double value, double error) {
  const double place = ulp(dtype, std::abs(value) + error);
  return error + (dtype == Dtype::fp32 ? place : 0.5 * place) + kFlushed;
}

// IEEE 754 leaves no choice for a single operation. Where the type has 16 bits the fp32 result may
// be rounded again, and comes out the same: fp32 has at least twice as many digits and two more,
// and then rounding a sum twice does no harm. Below the normal numbers it may be flushed to zero.
double rounded_once(double value) {
  return u * u * std::abs(value) + kFlushed;
}

// |error| <= u * k * sum|x|: each partial sum is at most sum|x| in size. The stored sum is fp32.
double row_sum(std::int64_t cols, double sum_of_magnitudes) {
  return u * summation(cols) * sum_of_magnitudes + kFlushed;
}

double column_sum(Dtype dtype, std::int64_t rows, double sum, double sum_of_magnitudes) {
  return rounded(dtype, sum, u * summation(rows) * sum_of_magnitudes);
}

}  // namespace onepass::verdict::bounds

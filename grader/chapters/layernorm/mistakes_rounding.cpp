// Exercise 2.1: what y, mean and rstd would be where digits are lost to rounding.
#include <cmath>
#include <optional>

#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/layernorm/wrong_forward.h"

namespace onepass::layernorm {

using common::map;
using common::rounded;
using common::SixteenBitSum;
using common::sum_in;
using verdict::Oracle;

namespace {

// Of E[x^2] - E[x]^2: mean / deviation from which on what is left of the variance is rounding, up
// to which something of it is left, and how far apart, in bounds, two orders of addition may be.
constexpr double kCancels = 30.0;
constexpr double kNothingLeft = 300.0;
constexpr double kCancellationSlack = 200.0;

Field squared(const Field& field) {
  return map(field, [](double value) { return value * value; });
}

void append_sixteen_bit_mean(std::vector<Oracle>& all) {
  for (SixteenBitSum how : common::sixteen_bit_sums()) {
    all.push_back(wrong_mean(
        "half-accumulation",
        "The mean is what adding up in the 16-bit type gives: convert each element to float and "
        "add in float.",
        [how](const ForwardInputs& in) -> std::optional<Field> {
          if (in.dtype == Dtype::fp32) {
            return std::nullopt;
          }
          return map(sum_in(in.dtype, in.x, how), [&](double sum) { return sum / in.cols(); });
        },
        verdict::kSixteenBitSlack));
  }
}

void append_sixteen_bit_squares(std::vector<Oracle>& all) {
  for (bool distances_too : {false, true}) {
    all.push_back(wrong_squares(
        "half-square-overflow",
        "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
        "infinity: convert to float first, then square.",
        [distances_too](const ForwardInputs& in, const Field& centred) -> std::optional<Field> {
          if (in.dtype == Dtype::fp32) {
            return std::nullopt;
          }
          const Field distances = distances_too ? rounded(in.dtype, centred) : centred;
          return map(row_means(rounded(in.dtype, squared(distances))),
                     [&](double mean) { return mean * in.cols(); });
        }));
  }
  for (SixteenBitSum how : common::sixteen_bit_sums()) {
    all.push_back(wrong_squares(
        "half-accumulation",
        "The variance is what adding up the squares in the 16-bit type gives: add in float.",
        [how](const ForwardInputs& in, const Field& centred) -> std::optional<Field> {
          if (in.dtype == Dtype::fp32) {
            return std::nullopt;
          }
          return sum_in(in.dtype, squared(centred), how);
        },
        verdict::kSixteenBitSlack));
  }
}

/// E[x^2] - E[x]^2 in fp32, the threads' shares added up in a tree. Its error is all rounding, and
/// no two orders of addition agree on it; but it is no larger than that of another order.
std::optional<ForwardOutputs> one_pass(const ForwardInputs& in, std::int64_t threads) {
  const Statistics right = statistics(in.x, in.eps);
  for (std::int64_t row = 0; row < in.x.rows; ++row) {
    const double ratio = std::abs(right.mean(row, 0)) * right.rstd(row, 0);
    if (ratio < kCancels || ratio > kNothingLeft) {
      return std::nullopt;
    }
  }
  const SixteenBitSum how{threads, true};
  const Field sums = sum_in(Dtype::fp32, in.x, how);
  const Field square_sums = sum_in(Dtype::fp32, rounded(Dtype::fp32, squared(in.x)), how);
  Field rstd(in.x.rows, 1);
  for (std::int64_t row = 0; row < in.x.rows; ++row) {
    const float mean = static_cast<float>(sums(row, 0) / in.cols());
    const float mean_of_squares = static_cast<float>(square_sums(row, 0) / in.cols());
    rstd(row, 0) = 1.0 / std::sqrt(mean_of_squares - mean * mean + static_cast<float>(in.eps));
  }
  return outputs_with(in, right.mean, rstd);
}

}  // namespace

void append_rounding_mistakes(std::vector<Oracle>& all) {
  append_sixteen_bit_mean(all);
  append_sixteen_bit_squares(all);
  for (std::int64_t threads : {256, 1024, 32, 1}) {
    all.push_back(wrong_forward(
        "one-pass-variance",
        "The variance lost its digits, as E[x^2] - E[x]^2 does where the mean is large: subtract "
        "two nearly equal numbers, and only their rounding errors remain. Sum (x - mean)^2 in a "
        "second walk over the row, or use Welford's method.",
        [threads](const ForwardInputs& in) { return one_pass(in, threads); }, kCancellationSlack));
  }
}

}  // namespace onepass::layernorm

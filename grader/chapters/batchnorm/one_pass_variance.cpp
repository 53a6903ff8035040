// E[x^2] - E[x]^2 in fp32.
//
// In fp64 this is right, so the mistake cannot be told from the formula: it is the rounding that
// goes wrong. The result is noise, of about u k mean(x^2), whose size is known and whose value is
// not: another order of additions gives other noise. So a result is taken for this mistake where
// the noise is far beyond the bound, and it is as near as another order of additions would be.
#include "chapters/batchnorm/one_pass_variance.h"

#include <cmath>
#include <optional>

#include "chapters/batchnorm/wrong_outputs.h"

namespace onepass::batchnorm {

using verdict::Oracle;

namespace {

// mean / deviation from which on the noise is beyond the bound, and up to which something of the
// variance is left; in units of the bound, how far two such noises may then be apart.
constexpr double kCancels = 20.0;
constexpr double kNothingLeft = 500.0;
constexpr double kOnePassSlack = 2000.0;

/// The sum of f(element) as threads make it, each in steps of `threads`, and then one after the
/// other.
template <typename Function>
float sum_in_fp32(const Field& x, std::int64_t channel, std::int64_t threads, Function f) {
  float sum = 0.0f;
  for (std::int64_t thread = 0; thread < threads && thread < x.cols; ++thread) {
    float share = 0.0f;
    for (std::int64_t j = thread; j < x.cols; j += threads) {
      share += f(static_cast<float>(x(channel, j)));
    }
    sum += share;
  }
  return sum;
}

std::optional<Statistics> one_pass(const Inputs& in, std::int64_t threads) {
  const Field mean = means(in.x);
  Statistics wrong{mean, biased_variances(in.x, mean)};
  const auto count = static_cast<float>(in.count());
  for (std::int64_t c = 0; c < in.channels(); ++c) {
    const double ratio = std::abs(mean(c, 0)) / std::sqrt(wrong.variance(c, 0));
    if (ratio < kCancels || ratio > kNothingLeft) {
      return std::nullopt;
    }
    const float first = sum_in_fp32(in.x, c, threads, [](float x) { return x; }) / count;
    const float second = sum_in_fp32(in.x, c, threads, [](float x) { return x * x; }) / count;
    wrong.mean(c, 0) = static_cast<double>(first);
    wrong.variance(c, 0) = static_cast<double>(second - first * first);
  }
  return wrong;
}

}  // namespace

void append_one_pass_variance(std::vector<Oracle>& all) {
  for (std::int64_t threads : {512, 256, 1024, 32, 1}) {
    all.push_back(wrong_statistics(
        "one-pass-variance",
        "The variance is about as far off as mean(x^2) - mean(x)^2 is: two large numbers that "
        "cancel. Find the mean first, then add up the squares of x - mean.",
        [threads](const Inputs& in) { return one_pass(in, threads); }, kOnePassSlack));
  }
}

}  // namespace onepass::batchnorm

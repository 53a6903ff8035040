#include "verdict/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onepass::verdict {
namespace {

/// The quantile of sorted samples, interpolated between neighbours.
double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

}  // namespace

Statistics statistics_of(std::vector<double> samples) {
  Statistics result;
  result.relative_error = std::numeric_limits<double>::infinity();
  if (samples.empty()) {
    return result;
  }
  std::sort(samples.begin(), samples.end());
  result.median = quantile(samples, 0.5);
  result.p20 = quantile(samples, 0.2);
  result.p80 = quantile(samples, 0.8);
  if (samples.size() > 1) {
    // For a normal distribution p80 - p20 is 1.683 standard deviations, and the median of n samples
    // has a standard error of sqrt(pi / 2) / sqrt(n) of them. A few outliers change neither.
    const double deviation = (result.p80 - result.p20) / 1.683;
    result.relative_error =
        1.2533 * deviation / std::sqrt(static_cast<double>(samples.size())) / result.median;
  }
  return result;
}

}  // namespace onepass::verdict

// A row of many that counts otherwise than once in sums over all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "verdict/session/dependence.h"

namespace onepass::verdict {

Case with_rows_changed(const Case& call, const Buffer& input, std::int64_t first, std::int64_t last,
                       double factor) {
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    for (std::int64_t row = first; row < (buffer.name == input.name ? last : 0); ++row) {
      for (std::int64_t col = 0; col < buffer.cols; ++col) {
        buffer.values.set(row, col, factor * buffer.values.get(row, col));
      }
    }
  }
  return call.with(std::move(buffers));
}

std::optional<std::string> miscounted_row(const Case& call, const Buffer& input,
                                          const Expectation& right, const Answer& answer,
                                          const Expected& expected, const Attempt& attempt) {
  constexpr double kFactor = -2.0;
  // By how much more than it must the sum has changed that differs most: in parts of what it must.
  const auto excess = [&](std::int64_t first, std::int64_t last) -> std::optional<double> {
    const Case changed = with_rows_changed(call, input, first, last, kFactor);
    const std::optional<Answer> now = attempt(changed);
    if (!now) {
      return std::nullopt;
    }
    const Expectation wanted = expected(changed);
    double most = 0.0, parts = 0.0;
    for (std::int64_t col = 0; col < right.value.cols; ++col) {
      const double change = wanted.value(0, col) - right.value(0, col);
      const double is = (*now)[right.output].get(0, col) - answer[right.output].get(0, col);
      const double bounds = wanted.bound(0, col) + right.bound(0, col);
      if (std::abs(is - change) > std::max(most, kFarOff * bounds)) {
        most = std::abs(is - change);
        parts = (is - change) / change;
      }
    }
    return parts;
  };
  std::int64_t first = 0, last = input.rows;
  std::optional<double> found = excess(first, last);
  while (found && *found != 0.0 && last - first > 1) {
    const std::int64_t middle = first + (last - first) / 2;
    found = excess(first, middle);
    if (found && *found != 0.0) {
      last = middle;
    } else if (found) {
      found = excess(middle, last);
      first = middle;
    }
  }
  const double times = 1.0 + std::round(found.value_or(0.0));  // that the row enters
  if (!found || std::abs(1.0 + *found - times) > 0.05 || times < 0.0 || times == 1.0) {
    return std::nullopt;
  }
  return times == 0.0 ? fmt::format(
                            "What {} holds in row {} does not enter {}: with other numbers there "
                            "the same comes out.",
                            input.name, first, right.output)
                      : fmt::format("What {} holds in row {} enters {} more than once.", input.name,
                                    first, right.output);
}

}  // namespace onepass::verdict

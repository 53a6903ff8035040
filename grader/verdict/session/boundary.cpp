#include "verdict/session/boundary.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "verdict/contract/call.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostOfBoundary = std::int64_t{1} << 21;  // of the inputs of a call

/// Columns go by as many of a vector as the size that is wrong is a multiple of, rows one by one.
std::int64_t step_of(const Case& call, const std::string& size) {
  const std::vector<std::string> rows = call.contract()->row_sizes();
  const std::int64_t whole = call.integer(size);
  return std::count(rows.begin(), rows.end(), size) > 0 ? 1
                                                        : std::min<std::int64_t>(8, whole & -whole);
}

}  // namespace

std::string Boundary::sentence() const {
  return fmt::format("With {0} = {1} the same call is right, with {0} = {2} it is not.", size,
                     right, wrong);
}

std::string Boundary::in_blocks(const std::vector<std::int64_t>& launches) const {
  constexpr std::int64_t kLeast = 8;  // of fewer blocks any number is a multiple
  const std::vector<std::string> rows = first_wrong.contract()->row_sizes();
  if (std::count(rows.begin(), rows.end(), size) == 0) {
    return "";
  }
  for (const std::int64_t blocks : launches) {
    if (blocks >= kLeast && blocks <= right && right % blocks == 0 && wrong == right + 1) {
      return fmt::format("A launch of it has {} blocks: from there on one has more than {} {}.",
                         blocks, right / blocks, size);
    }
  }
  return "";
}

std::optional<Boundary> find_boundary(const Case& call, const IsRight& is_right) {
  if (call.contract() == nullptr) {
    return std::nullopt;
  }
  bool is_known = true;
  for (const contract::Size& size : call.contract()->sizes) {
    if (!size.is_argument || call.integer(size.name) <= 1) {
      continue;
    }
    const std::int64_t step = step_of(call, size.name);
    const auto with = [&](std::int64_t steps) {
      contract::Sizes sizes = contract::sizes_of(call);
      sizes[size.name] = steps * step;
      // A head has no fewer elements than are turned.
      const auto turned = sizes.find("rotary_dim");
      if (turned != sizes.end() && size.name == "head_dim") {
        turned->second = std::min(turned->second, steps * step);
      }
      return contract::resized(call, sizes, kMostOfBoundary);
    };
    const auto is = [&](bool wanted, std::int64_t steps) {
      const std::optional<Case> other = is_known ? with(steps) : std::nullopt;
      const std::optional<bool> right = other ? is_right(*other) : std::nullopt;
      is_known = is_known && right;
      return right == wanted;
    };
    const std::int64_t first = (std::max<std::int64_t>(size.least, 1) + step - 1) / step;
    const std::int64_t last = call.integer(size.name) / step;
    if (last <= first || !with(last) || !is(true, first)) {
      continue;
    }
    std::int64_t low = first, high = last;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (is(true, middle) ? low : high) = middle;
    }
    // Else it goes up and down, and tells nothing.
    if (is(true, first + (low - first) / 2) && is(false, high + (last - high) / 2) &&
        is(false, high)) {
      return Boundary{size.name, low * step, high * step, *with(high)};
    }
  }
  return std::nullopt;
}

}  // namespace onepass::verdict

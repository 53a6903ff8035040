// From which size on a call goes wrong, found by calls between the one that does and a small one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verdict/case.h"

namespace onepass::verdict {

struct Run;

/// Two neighbours from `first` to `last`, of which is_alike(the first of them) and not is_alike(the
/// other), by halves. Of the ends themselves it is known.
template <typename IsAlike>
std::pair<std::int64_t, std::int64_t> end_between(std::int64_t first, std::int64_t last,
                                                  IsAlike is_alike) {
  while (last - first > 1) {
    const std::int64_t middle = first + (last - first) / 2;
    (is_alike(middle) ? first : last) = middle;
  }
  return {first, last};
}

/// The same call with `right` for that size is right, and with `wrong`, the next one, is not. Of
/// columns that is the next number that fills as many vectors.
struct Boundary {
  std::string size;
  std::int64_t right = 0, wrong = 0;
  Case last_right, first_wrong;  // the calls with them

  std::string sentence() const;
  /// What it is to the blocks of a launch of that call, if `right` is as many rows for each of
  /// them; else empty.
  std::string in_blocks(const std::vector<std::int64_t>& launches) const;
};

/// What is launched in the call that is not right, if it is something else; else empty.
std::string in_launches(const Run& right, const Run& wrong);

/// Is that call right? Nothing if it takes too long to know.
using IsRight = std::function<std::optional<bool>(const Case&)>;

/// Of the first size of which there is one: a call between the smallest and the last right one is
/// right too, and one between the first wrong one and the largest wrong. Nothing if there is none,
/// or if it would take calls that are too large.
std::optional<Boundary> find_boundary(const Case& call, const IsRight& is_right);

}  // namespace onepass::verdict

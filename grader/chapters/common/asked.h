// A launcher that is asked what it launches, at more sizes than could be calculated with.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"
#include "verdict/session/boundary.h"

namespace onepass::common {

using Launches = verdict::Session::Launches;

/// How much there is of all other sizes, where there is so much of one; and columns, where it is
/// not these.
std::int64_t others_at_end(std::int64_t number);
constexpr std::int64_t kOtherWidth = 40;
verdict::contract::Sizes sizes_at_end(const Function& function, const std::string& size,
                                      std::int64_t number);

/// What a launcher launches for so much of a size: asked by calls of which no kernel runs. It is
/// asked in steps. is_odd: for sizes that fill no vector of 16 bytes; else for such as do.
class Asked {
 public:
  Asked(const Function& function, Dtype dtype, const std::string& size, bool is_odd)
      : function_(function), dtype_(dtype), size_(size), is_odd_(is_odd) {}

  std::int64_t first() const { return is_odd_ ? 0 : 1; }
  std::int64_t number(std::int64_t step) const { return is_odd_ ? 2 * step + 1 : whole() * step; }
  /// Of the largest number that is no more.
  std::int64_t step(std::int64_t number) const {
    return is_odd_ ? (number - 1) / 2 : number / whole();
  }
  /// 1, 3, 7, ...: of numbers up to `most`. All are asked for at once, which costs less.
  std::vector<std::int64_t> doublings(std::int64_t most) const;

  const Launches& launches_at(std::int64_t step) const { return launches(number(step)); }
  const Launches& launches(std::int64_t number) const;
  /// Asks for all of these steps, at once.
  void ask(const std::set<std::int64_t>& steps) const;

 private:
  Case call(std::int64_t number) const;
  std::int64_t whole() const;

  const Function& function_;
  const Dtype dtype_;
  const std::string& size_;
  const bool is_odd_;
};

/// Of two numbers of which `look` sees different things: the last that has what the first one has,
/// as far as it is known, and the next.
template <typename Look>
std::pair<std::int64_t, std::int64_t> end_between(std::int64_t before, std::int64_t after,
                                                  Look look) {
  const auto of_first = look(before);
  return verdict::end_between(before, after,
                              [&](std::int64_t middle) { return look(middle) == of_first; });
}

/// Of two steps at which `look` sees different launches: the numbers on both sides of the place.
template <typename Look>
std::pair<std::int64_t, std::int64_t> ends_between(const Asked& asked, std::int64_t before,
                                                   std::int64_t after, Look look) {
  const auto [last, next] =
      end_between(before, after, [&](std::int64_t step) { return look(asked.launches_at(step)); });
  return {asked.number(last), asked.number(next)};
}

/// The kernels of launches, each with the shape of its clusters.
std::set<std::string> kernels_of(const Launches& launches);

}  // namespace onepass::common

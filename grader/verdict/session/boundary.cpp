#include "verdict/session/boundary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostOfBoundary = std::int64_t{1} << 21;  // of the inputs of a call

/// Numbers of columns are tried that fill as many vectors, rows one by one.
struct Steps {
  std::int64_t first, each;

  std::int64_t number(std::int64_t step) const { return first + step * each; }
  std::int64_t step(std::int64_t number) const { return (number - first) / each; }
};

/// From `least` on. What is a multiple of 8 fills vectors of every type.
Steps steps_from(const Case& call, const std::string& size, std::int64_t least) {
  const std::vector<std::string> rows = call.contract()->row_sizes();
  if (std::count(rows.begin(), rows.end(), size) > 0) {
    return {least, 1};
  }
  const std::int64_t whole = call.integer(size);
  const std::int64_t vector = std::min<std::int64_t>(8, whole & -whole);
  const std::int64_t each = vector == 8 ? 8 : 2 * vector;
  const std::int64_t first = whole % each;
  return {first + (std::max<std::int64_t>(least - first, 0) + each - 1) / each * each, each};
}

/// Of how many blocks and threads the first launch is that has others in the wrong call.
std::string in_shape(const Run& right, const Run& wrong) {
  const auto size_of = [](const simulator::Dim3& of) { return std::int64_t{of.x} * of.y * of.z; };
  for (std::size_t i = 0; i < std::min(right.traffic.size(), wrong.traffic.size()); ++i) {
    const LaunchTraffic& before = right.traffic[i];
    const LaunchTraffic& after = wrong.traffic[i];
    const std::pair was(size_of(before.grid), size_of(before.block));
    const std::pair is(size_of(after.grid), size_of(after.block));
    if (was != is) {
      return fmt::format(
          "With the latter {} is launched in {} blocks of {} threads, with the former in {} of {}.",
          after.kernel, is.first, is.second, was.first, was.second);
    }
  }
  return "";
}

}  // namespace

std::string Boundary::sentence() const {
  constexpr std::int64_t kRoot = 46'341;  // of 2^31, and a little more: halves may differ by some
  const bool is_root = wrong >= kRoot && right < kRoot + kRoot / 100 && right > kRoot - kRoot / 100;
  return fmt::format(
      "With {0} = {1} the same call is right, with {0} = {2} it is not.{3}",
      contract::with_parts(first_wrong, size), right, wrong,
      is_root ? " From 46341 on the product of two such numbers is beyond 2^31: it needs 64 "
                "bits, or a float."
              : "");
}

std::string Boundary::in_blocks(const std::vector<std::int64_t>& launches) const {
  constexpr std::int64_t kLeast = 8;  // of fewer blocks any number is a multiple
  const std::vector<std::string> rows = first_wrong.contract()->row_sizes();
  if (std::count(rows.begin(), rows.end(), size) == 0) {
    return "";
  }
  for (const std::int64_t blocks : launches) {
    if (blocks >= kLeast && blocks <= right && right % blocks == 0 && wrong == right + 1) {
      return fmt::format(
          "A launch of it has {} blocks: from there on one has more than {} of the {}.", blocks,
          right / blocks, size);
    }
  }
  return "";
}

std::string in_launches(const Run& right, const Run& wrong) {
  const auto kernels_of = [](const Run& run) {
    std::set<std::string> names;
    for (const LaunchTraffic& launch : run.traffic) {
      names.insert(launch.kernel + (launch.in_clusters ? " in clusters" : ""));
    }
    return names;
  };
  const std::set<std::string> before = kernels_of(right), after = kernels_of(wrong);
  std::vector<std::string> gone, come;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(gone));
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(come));
  if (come.empty()) {
    return in_shape(right, wrong);
  }
  return fmt::format("With the latter {} is launched{}: look at what is done there.",
                     fmt::join(come, " and "),
                     gone.empty() ? "" : fmt::format(", and not {}", fmt::join(gone, " and ")));
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
    const Steps steps = steps_from(call, size.name, std::max<std::int64_t>(size.least, 1));
    const auto with = [&](std::int64_t step) {
      contract::Sizes sizes = contract::sizes_of(call);
      sizes[size.name] = steps.number(step);
      return contract::resized(call, sizes, kMostOfBoundary);
    };
    const auto is = [&](bool wanted, std::int64_t step) {
      const std::optional<Case> other = is_known ? with(step) : std::nullopt;
      const std::optional<bool> right = other ? is_right(*other) : std::nullopt;
      is_known = is_known && right;
      return right == wanted;
    };
    const std::int64_t last = steps.step(call.integer(size.name));
    if (last <= 0 || !with(last) || !is(true, 0)) {
      continue;
    }
    const auto [low, high] =
        end_between(0, last, [&](std::int64_t middle) { return is(true, middle); });
    // Else it goes up and down, and tells nothing.
    if (is(true, low / 2) && is(false, high + (last - high) / 2) && is(false, high)) {
      return Boundary{size.name, steps.number(low), steps.number(high), *with(low), *with(high)};
    }
  }
  return std::nullopt;
}

}  // namespace onepass::verdict

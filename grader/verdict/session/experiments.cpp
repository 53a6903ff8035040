#include "verdict/session/experiments.h"

#include <algorithm>
#include <utility>

#include "verdict/contract/call.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostTriedAgain = std::int64_t{1} << 18;  // elements of all inputs

/// Those that explain this output too.
std::vector<Suspect> question(std::vector<Suspect> suspects, const WrongOutput& wrong) {
  return that_explain(wrong.call, wrong.expectation, wrong.answer[wrong.expectation.output],
                      std::move(suspects));
}

/// Do those that are nearest say the same?
bool agree(const std::vector<Suspect>& suspects) {
  return nearest(suspects, true).size() == 1;
}

/// What a size may be changed by: it stays a multiple of what it is a multiple of, up to a vector,
/// so that a function that has a path for vectors takes the same one.
std::int64_t step_of(std::int64_t size) {
  return 2 * std::min<std::int64_t>(8, size & -size);
}

/// How to change the sizes of a call: its numbers of rows, and all others.
struct Resizing {
  std::int64_t more_rows = 0;
  std::int64_t factor = 1, steps = 0, more = 0;
  bool ones = false;  // also those that are 1
};

/// More rows, a square that stays one, wider or narrower rows, some that are longer than a block,
/// and last, where the call has only one row or column, several.
constexpr Resizing kResizings[] = {{.more_rows = 1},
                                   {.more_rows = 2, .more = 2},
                                   {.steps = 1},
                                   {.factor = 3},
                                   {.more_rows = 1, .factor = 9, .steps = 1},
                                   {.factor = 33},
                                   {.more_rows = 2, .factor = 5, .ones = true},
                                   {.more_rows = 5, .factor = 33, .ones = true}};

/// The call in the changed sizes; nothing if that is the same call or too large a one.
std::optional<Case> resized(const Case& call, const Resizing& resizing) {
  const std::vector<std::string> row_sizes = call.contract()->row_sizes();
  contract::Sizes sizes = contract::sizes_of(call);
  const contract::Sizes before = sizes;
  for (const contract::Size& size : call.contract()->sizes) {
    if (!size.is_argument || (sizes[size.name] <= 1 && !resizing.ones)) {
      continue;
    }
    std::int64_t& value = sizes[size.name];
    const bool is_rows = std::count(row_sizes.begin(), row_sizes.end(), size.name) > 0;
    const std::int64_t steps = resizing.steps * step_of(value);
    const std::int64_t now =
        is_rows ? value + resizing.more_rows : value * resizing.factor + steps + resizing.more;
    value = now <= size.most ? now : value - steps;
  }
  return sizes == before ? std::nullopt : contract::resized(call, sizes, kMostTriedAgain);
}

}  // namespace

Causes find_causes(const WrongOutput& wrong,
                   const std::function<Expectation(const Case&)>& expected,
                   const std::vector<Oracle>& oracles, const Attempt& attempt) {
  std::vector<Suspect> suspects = question({oracles.begin(), oracles.end()}, wrong);
  bool confirmed = false;
  for (const Resizing& resizing : kResizings) {
    if (suspects.empty() || (confirmed && agree(suspects))) {
      break;
    }
    const std::optional<Case> other = resized(wrong.call, resizing);
    const std::optional<Answer> answer = other ? attempt(*other) : std::nullopt;
    if (!answer) {
      continue;
    }
    const Expectation expectation = expected(*other);
    const Comparison comparison =
        compare((*answer)[expectation.output], expectation.value, expectation.bound, std::nullopt);
    // What none of them explains may be another mistake, which this shape brings to light.
    std::vector<Suspect> left = question(suspects, {*other, *answer, expectation, comparison});
    if (!comparison.right() && !left.empty()) {
      suspects = std::move(left);
      confirmed = true;
    }
  }
  return {nearest(suspects), confirmed};
}

}  // namespace onepass::verdict

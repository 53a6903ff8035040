#include "verdict/session/experiments.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "verdict/contract/call.h"
#include "verdict/own_rounding.h"
#include "verdict/session/counter_checks.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

// Elements of all inputs. Some hundred oracles go through a few in no time. What is wrong from some
// row on only is looked for in ever more rows.
constexpr std::int64_t kSome = std::int64_t{1} << 16;
constexpr std::int64_t kMostTriedAgain = std::int64_t{1} << 18;
constexpr std::pair<bool, std::int64_t> kSmaller[] = {  // in rows? and how many elements
    {true, kFew},      {false, kSome},          {true, kFew << 1},
    {true, kFew << 2}, {true, kFew << 3},       {true, kFew << 4},
    {true, kFew << 5}, {true, kMostTriedAgain}, {false, kMostTriedAgain}};
// With more steps there is no use in asking them: these take two seconds.
constexpr std::int64_t kMostAsked = std::int64_t{1} << 21;
// Bounds: with less, no number is far enough off for noise to be what explains it.
constexpr double kLoud = 2.0;
constexpr std::int64_t kStepsOfRow =
    256;  // at least: an oracle adds up as the threads of a block do

/// Is something off by so much that what comes near to it does so for a reason? Numbers of 16 bits
/// are off by a bound or two for each rounding.
bool is_telling(const Case& call, const Expectation& expectation, const Comparison& comparison) {
  return !(comparison.error_over_bound < kTelling) ||
         call.buffer(expectation.output).dtype != Dtype::fp32;
}

/// Of results that are off by too little to be telling: drops what gives exact numbers, and noise
/// that nothing but its size speaks for, or that exact numbers come as near.
void drop_untelling(std::vector<Suspect>& suspects) {
  double exact = std::numeric_limits<double>::infinity();
  for (const Suspect& suspect : suspects) {
    exact = is_exact(suspect) ? std::min(exact, suspect.away) : exact;
  }
  std::erase_if(suspects, [&](const Suspect& one) {
    return is_exact(one) || !one.oracle->noise.erratic || one.away >= exact;
  });
}

/// Do those that are nearest say the same?
bool agree(const std::vector<Suspect>& suspects) {
  return nearest(suspects, true).size() == 1;
}

/// The vector of up to 8 elements that a number of columns is a multiple of.
std::int64_t vector_of(std::int64_t cols) {
  return std::min<std::int64_t>(8, cols & -cols);
}

/// How to change a call: its numbers of rows, all other sizes, and its scalars.
struct Varying {
  std::int64_t more_rows = 0;
  bool eights = false;  // rows are a multiple of 8 then: no block is left with fewer than others
  std::int64_t factor = 1, steps = 0, more = 0;
  bool ones = false;     // also those that are 1
  bool one_row = false;  // only where there is one row
  double root = 1.0;     // of its scalars
};

/// More rows, a square that stays one, blocks full of rows, wider or narrower rows, other scalars,
/// some rows that are longer than a block, and last, where the call has only one row or column,
/// several.
constexpr Varying kChanges[] = {{.more_rows = 1},
                                {.more_rows = 2, .more = 2},
                                {.eights = true},
                                {.steps = 1},
                                {.factor = 3},
                                {.root = 4.0},
                                {.more_rows = 1, .factor = 9, .steps = 1},
                                {.factor = 33},
                                {.more_rows = 2, .ones = true, .one_row = true},
                                {.more_rows = 2, .factor = 5, .ones = true},
                                {.more_rows = 7, .factor = 33, .ones = true}};

/// Does a kernel go about both numbers of columns in the same way? Beyond a power of two there may
/// be more warps, or more columns a thread, and without whole vectors a path of its own; and so a
/// mistake of its own.
bool are_alike(std::int64_t one, std::int64_t other) {
  const auto warps = [](std::int64_t cols) {
    return std::bit_width(static_cast<std::uint64_t>(cols - 1));
  };
  return warps(one) == warps(other) && vector_of(one) == vector_of(other);
}

/// Is it a number of heads, of which a tensor's row has several side by side? Then another size is
/// what a head has, for which there is a tensor of its own, such as a weight.
bool counts_heads(const contract::Function& function, const std::string& size) {
  const std::vector<contract::Tensor>& tensors = function.tensors;
  return std::any_of(tensors.begin(), tensors.end(), [&](const contract::Tensor& tensor) {
    const std::vector<std::string>& factors = tensor.cols.factors;
    return std::count(factors.begin(), factors.end(), size) > 0 &&
           std::any_of(factors.begin(), factors.end(), [&](const std::string& other) {
             return other != size &&
                    std::any_of(tensors.begin(), tensors.end(), [&](const auto& of_head) {
                      return of_head.cols == contract::Extent(other.c_str());
                    });
           });
  });
}

/// Has a row but one element? Then no sum tells one formula from another.
bool is_one_column(const Case& call) {
  const std::vector<std::string> row_sizes = call.contract()->row_sizes();
  const std::vector<contract::Size>& sizes = call.contract()->sizes;
  return std::all_of(sizes.begin(), sizes.end(), [&](const contract::Size& size) {
    return !size.is_argument || std::count(row_sizes.begin(), row_sizes.end(), size.name) > 0 ||
           call.integer(size.name) == 1;
  });
}

struct Variation {
  Case call;
  bool is_alike = true;
};

/// The changed call; nothing if that is the same one, or too large.
std::optional<Variation> varied(const Case& call, const Varying& change) {
  const std::vector<std::string> row_sizes = call.contract()->row_sizes();
  contract::Sizes sizes = contract::sizes_of(call);
  const contract::Sizes before = sizes;
  if (change.one_row && std::any_of(row_sizes.begin(), row_sizes.end(),
                                    [&](const auto& rows) { return before.at(rows) > 1; })) {
    return std::nullopt;
  }
  bool is_alike = true;
  for (const contract::Size& size : call.contract()->sizes) {
    if (!size.is_argument || (sizes[size.name] <= 1 && !change.ones)) {
      continue;
    }
    std::int64_t& value = sizes[size.name];
    const bool is_rows = std::count(row_sizes.begin(), row_sizes.end(), size.name) > 0;
    const std::int64_t more = change.steps * 2 * vector_of(value) + change.more;
    const std::int64_t wider = value * change.factor + more;
    const bool is_narrower = more < value && (wider > size.most || !are_alike(wider, value));
    const std::int64_t rows = change.eights ? (value / 8 + 1) * 8 : value + change.more_rows;
    value = is_rows ? rows : is_narrower ? value * change.factor - more : wider;
    is_alike = is_alike && (is_rows || counts_heads(*call.contract(), size.name) ||
                            are_alike(value, before.at(size.name)));
  }
  const bool is_other =
      sizes != before || (change.root != 1.0 && !call.contract()->scalars.empty());
  std::optional<Case> changed =
      is_other ? contract::resized(call, sizes, kMostTriedAgain, change.root) : std::nullopt;
  return changed ? std::optional(Variation{std::move(*changed), is_alike}) : std::nullopt;
}

/// What it costs an oracle to go through a call: by elements, and what a block has by its threads.
std::int64_t steps_of(const Case& call) {
  std::int64_t blocks = call.contract() == nullptr ? std::numeric_limits<std::int64_t>::max() : 1;
  if (call.contract() != nullptr) {
    for (const std::string& rows : call.contract()->row_sizes()) {
      blocks *= call.integer(rows);
    }
  }
  std::int64_t steps = 0;
  for (const Buffer& buffer : call.buffers()) {
    if (!buffer.null && buffer.role != Role::output) {
      steps += std::max(buffer.rows * buffer.cols, std::min(buffer.rows, blocks) * kStepsOfRow);
    }
  }
  return steps;
}

/// The call with fewer rows, or fewer columns, and `most` elements; nothing if it has no more, or
/// if those are not what makes it large.
std::optional<Case> made_smaller(const Case& call, bool in_rows, std::int64_t most) {
  if (call.contract() == nullptr || elements_of(call) <= most) {
    return std::nullopt;
  }
  const std::vector<std::string> row_sizes = call.contract()->row_sizes();
  contract::Sizes sizes = contract::sizes_of(call);
  std::optional<Case> smaller;
  for (auto& [name, size] : sizes) {
    const bool is_rows = std::count(row_sizes.begin(), row_sizes.end(), name) > 0;
    const std::int64_t step = is_rows ? 1 : vector_of(size);
    while (!smaller && is_rows == in_rows && size > 2 * step) {
      size = (size / 2 + step - 1) / step * step;
      smaller = contract::resized(call, sizes, most);
    }
  }
  return smaller;
}

/// Each mistake once, the nearest first; of its ways to be made that which stands first among the
/// nearest.
std::vector<Diagnosis> by_distance(const std::vector<Suspect>& suspects) {
  std::vector<Suspect> sorted = suspects;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Suspect& a, const Suspect& b) { return a.away < b.away; });
  std::vector<Diagnosis> all;
  for (const Suspect& suspect : sorted) {
    const auto is_of_it = [&](const auto& other) { return other == suspect.oracle->mistake; };
    if (std::none_of(all.begin(), all.end(),
                     [&](const Diagnosis& known) { return is_of_it(known.mistake); })) {
      std::vector<Suspect> ways;
      std::copy_if(suspects.begin(), suspects.end(), std::back_inserter(ways),
                   [&](const Suspect& other) { return is_of_it(other.oracle->mistake); });
      all.push_back(nearest(ways, false, kTieOfWays).front());
    }
  }
  return all;
}

}  // namespace

std::vector<std::int64_t> Threads::blocks() const {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < of_grids.size(); ++i) {
    all.push_back(of_grids[i] / of_blocks[i]);
  }
  return all;
}

Threads threads_of(const Run& run) {
  Threads threads;
  for (const LaunchTraffic& launch : run.traffic) {
    const auto [x, y, z] = launch.block;
    threads.of_blocks.push_back(std::int64_t{x} * y * z);
    threads.of_grids.push_back(threads.of_blocks.back() * launch.grid.x * launch.grid.y *
                               launch.grid.z);
  }
  return threads;
}

Causes find_causes(const WrongOutput& wrong,
                   const std::function<Expectation(const Case&)>& expected,
                   const std::vector<Oracle>& oracles, const Attempt& attempt) {
  if (wrong.comparison.unwritten > 0) {
    return {};  // what memory held before is nobody's result
  }
  if (const std::optional<Diagnosis> saturated = explain_saturated(wrong)) {
    return {{*saturated}, true};
  }
  // What is right with an ordinary number in place of an infinite one has no wrong formula.
  if (const std::optional<Diagnosis> hidden = explain_hidden(wrong)) {
    const Case usual = made_finite(wrong.call);
    const std::optional<Answer> answer = attempt(usual);
    if (answer && comparison_of(*answer, expected(usual)).right()) {
      return {{*hidden}, true};
    }
  }
  const bool is_sure = is_telling(wrong.call, wrong.expectation, wrong.comparison);
  for (const auto& [in_rows, most] : kSmaller) {
    const std::optional<Case> smaller = made_smaller(wrong.call, in_rows, most);
    const std::optional<Answer> answer = smaller ? attempt(*smaller) : std::nullopt;
    if (answer) {
      const Expectation expectation = expected(*smaller);
      const Comparison comparison = comparison_of(*answer, expectation);
      if (!comparison.right() && (!is_sure || is_telling(*smaller, expectation, comparison))) {
        return find_causes({*smaller, *answer, expectation, comparison, true}, expected, oracles,
                           attempt);
      }
    }
  }
  if (steps_of(wrong.call) > kMostAsked) {
    return {};
  }
  const std::vector<Oracle> of_any_output = roundings_of(expected);
  std::vector<Suspect> all(oracles.begin(), oracles.end());
  all.insert(all.end(), of_any_output.begin(), of_any_output.end());
  std::vector<Suspect> suspects = question(std::move(all), wrong);
  const CounterChecks checks = {expected, attempt};
  checks.drop_harmless(suspects, wrong.call);
  checks.drop_steady(suspects, wrong.call);
  bool confirmed = false;
  bool telling = is_sure;
  double most = wrong.comparison.error_over_bound;
  for (const Varying& change : kChanges) {
    if (suspects.empty()) {
      break;
    }
    const std::optional<Variation> other = varied(wrong.call, change);
    if (!other || (!other->is_alike && confirmed && agree(suspects))) {
      continue;
    }
    const std::optional<Answer> answer = attempt(other->call);
    if (!answer) {
      continue;
    }
    const Expectation expectation = expected(other->call);
    const Comparison comparison = comparison_of(*answer, expectation);
    most = std::max(most, comparison.error_over_bound);
    std::vector<Suspect> left = question(suspects, {other->call, *answer, expectation, comparison});
    // What none of them explains in a shape unlike the first may be another mistake, which that
    // brings to light. A shape that comes out right may be gone about in another way; it decides
    // only where there was a single row or column, which shows little.
    const bool decides = !comparison.right() || change.ones;
    if (!left.empty() && decides) {
      suspects = std::move(left);
      confirmed = confirmed || (!comparison.right() && !is_one_column(other->call));
      telling = telling || is_telling(other->call, expectation, comparison);
    } else if (decides && (other->is_alike || (comparison.right() && is_one_column(wrong.call)))) {
      suspects = that_are_silent(other->call, expectation, (*answer)[expectation.output],
                                 std::move(suspects), answer->launches);
    }
  }
  if (!telling) {
    drop_untelling(suspects);
  }
  if (most < kLoud) {
    std::erase_if(suspects, [](const Suspect& one) { return one.oracle->noise.slack > kSlack; });
  }
  checks.drop_confined(suspects, wrong.call, oracles);
  checks.drop_accidental(suspects, wrong.call);
  checks.drop_of_one(suspects, wrong);
  checks.drop_without_mean(suspects, wrong.call);
  checks.drop_of_flat_rows(suspects, wrong.call);
  std::vector<Diagnosis> nearest_ones = nearest(suspects);
  confirmed = confirmed && nearest_ones.size() == 1;
  return {confirmed ? by_distance(suspects) : std::move(nearest_ones), confirmed};
}

bool in_another_shape(const Case& call, const std::function<bool(const Case&)>& holds) {
  return call.contract() != nullptr &&
         std::any_of(std::begin(kChanges), std::end(kChanges), [&](const Varying& change) {
           const std::optional<Variation> other = varied(call, change);
           return other && holds(other->call);
         });
}

bool reaches_other_warps(const Case& call, const Finding& race, const Observe& observe) {
  const auto is_wider = [&](const Finding& finding) {
    return finding.kind == race.kind && finding.missing == Missing::barrier &&
           std::is_permutation(finding.parties.begin(), finding.parties.end(), race.parties.begin(),
                               race.parties.end(), [](const Party& a, const Party& b) {
                                 return a.line == b.line && a.file == b.file;
                               });
  };
  return in_another_shape(call, [&](const Case& other) {
    const std::vector<Finding> found = observe(other);
    return std::any_of(found.begin(), found.end(), is_wider);
  });
}

}  // namespace onepass::verdict

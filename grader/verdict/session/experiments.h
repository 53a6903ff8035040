// Experiments: from numbers that are wrong to the mistake that made them, by further calls.
//
// In one shape several mistakes may give the same numbers, and with as many mistakes as a chapter
// knows one of them may fit by accident. So a mistake is named only if it gives what the student's
// function gives in another shape too, in which that is wrong as well, and in each that is much
// like the first, right or wrong. If several do, the nearest; what other checks say goes before
// that.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verdict/diagnosis.h"
#include "verdict/worker/finding.h"

namespace onepass::verdict {

struct Run;  // worker_client.h

/// An output that is not what it must be.
struct WrongOutput {
  const Case& call;
  const Answer& answer;
  const Expectation& expectation;
  const Comparison& comparison;
  bool of_smaller_call = false;  // than the one that failed
};

/// Runs the student's function; nothing if the call did not come to a good end.
using Attempt = std::function<std::optional<Answer>(const Case&)>;

/// The mistakes that explain the output in every shape that counts, each once. confirmed: there was
/// another one in which it is wrong, and the first mistake is nearer than all others. Else those
/// that are nearest, in the order of the table.
struct Causes {
  std::vector<Diagnosis> mistakes;
  bool confirmed = false;
};

/// `expected`: what that output must be, of any call of the function.
Causes find_causes(const WrongOutput& wrong,
                   const std::function<Expectation(const Case&)>& expected,
                   const std::vector<Oracle>& oracles, const Attempt& attempt);

/// Does that hold of the call in some other shape?
bool in_another_shape(const Case& call, const std::function<bool(const Case&)>& holds);

/// How many threads the launches of a call have, each: in a block, and in the grid.
struct Threads {
  std::vector<std::int64_t> of_blocks = {}, of_grids = {};

  /// How many blocks each launch has.
  std::vector<std::int64_t> blocks() const;
};
/// As far as the device tells.
Threads threads_of(const Run& run);

/// Runs the student's function and compares the output that is asked about; nothing if the call did
/// not come to a good end.
using TryAgain = std::function<std::optional<std::pair<Comparison, Threads>>(const Case&)>;

// For numbers that no mistake explains.

/// Are exactly those elements wrong in which a NaN or an infinity of an input must show?
std::optional<Diagnosis> explain_hidden(const WrongOutput& wrong);

/// Are exactly those elements wrong that fp16 has no room for, and its largest number?
std::optional<Diagnosis> explain_saturated(const WrongOutput& wrong);

/// Is what does not depend on such an element NaN as well, and right with a number there?
std::optional<Diagnosis> explain_spread(const WrongOutput& wrong, const TryAgain& again);

/// Is a statistic that knows no mean, such as rstd, right once the mean is taken off x?
std::optional<Diagnosis> explain_lost_in_mean(
    const WrongOutput& wrong, const std::function<Expectation(const Case&)>& expected,
    const TryAgain& again);

/// Are exactly those elements right that the threads come to in the first turn of their loops?
std::optional<Diagnosis> explain_first_turn(const WrongOutput& wrong, const Threads& threads,
                                            const TryAgain& again);

/// Are rows NaN up to a width at which threads of a block have no element of them, and wider ones
/// right?
std::optional<Diagnosis> explain_empty_threads(const WrongOutput& wrong, const Threads& threads,
                                               const TryAgain& again);

/// Of calls with too many rows to ask the oracles: are the sums down the columns those of the first
/// rows only?
std::optional<Diagnosis> explain_lost_rows(const WrongOutput& wrong,
                                           const std::function<Expectation(const Case&)>& expected);

/// What the simulator finds in a call of the student's function.
using Observe = std::function<std::vector<Finding>(const Case&)>;

/// Is the race between two lanes of a warp one between two warps in another shape?
bool reaches_other_warps(const Case& call, const Finding& race, const Observe& observe);

}  // namespace onepass::verdict

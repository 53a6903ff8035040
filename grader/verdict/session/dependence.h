// On which elements of its inputs a result depends that no mistake explains, found by calls in
// which some of them are others. True by experiment, whatever the reason is: a stride that is too
// wide, a tree that leaves a slot out, a part that was never merged; a slot that the next row takes
// too early.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "verdict/session/experiments.h"

namespace onepass::verdict {

using Expected = std::function<Expectation(const Case&)>;

constexpr double kFarOff = 4.0;  // bounds: by so much a result has to change

/// The same call with the rows of that input from `first` to before `last` so many times as large.
Case with_rows_changed(const Case& call, const Buffer& input, std::int64_t first, std::int64_t last,
                       double factor);

/// Inputs that should enter the output, and do not at all. Nothing of large calls.
std::optional<std::string> unused_inputs(const Case& call, const Expected& expected,
                                         const Attempt& attempt);

/// Elements on which the output should depend, and does not; else those that enter it more than
/// once. Of an output that is a sum over the rows or the columns of an input, or has the shape of
/// one whose rows depend on such sums; or of any that so small an input makes that each of its
/// elements has a call of its own. Of large inputs a sample is tried. Nothing if all elements are
/// alike in this, or if it would take too long.
std::optional<std::string> miscounted_elements(const Case& call, const Expected& expected,
                                               const Attempt& attempt);

/// A row of many that enters sums over them, one a column, several whole times, or not at all:
/// found by changing half of the rows among which it is, again and again.
std::optional<std::string> miscounted_row(const Case& call, const Buffer& input,
                                          const Expectation& right, const Answer& answer,
                                          const Expected& expected, const Attempt& attempt);

/// A row of an input that enters another row of the output, which should not depend on it. A few
/// rows are tried. Nothing of outputs that have other rows than the input.
std::optional<std::string> foreign_rows(const Case& call, const Expected& expected,
                                        const Attempt& attempt);

}  // namespace onepass::verdict

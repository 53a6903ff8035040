// Which elements of an input an output does not depend on, though it should: found by calls in
// which single elements are others. True by experiment, whatever the reason is: a stride that is
// too wide, a tree that leaves a slot out, a part that was never merged.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "verdict/session/experiments.h"

namespace onepass::verdict {

/// Of an output that is a sum over the rows or the columns of an input, or has the shape of one
/// whose rows depend on such sums; or of any that so small an input makes that each of its elements
/// has a call of its own. Nothing if every element counts, or none does, or if it would take too
/// many calls.
std::optional<std::string> lost_elements(const Case& call,
                                         const std::function<Expectation(const Case&)>& expected,
                                         const Attempt& attempt);

}  // namespace onepass::verdict

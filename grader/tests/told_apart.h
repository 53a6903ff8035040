// Mistakes against each other: what a mistake gives must be told from the right result, and must be
// named by its own name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verdict/diagnosis.h"
#include "verdict/session/session.h"

namespace onepass::tests {

/// How far `wrong` is from what is expected, in bounds, at its worst.
double error_over_bound(const verdict::Field& wrong, const verdict::Expectation& right);

/// What the outputs of a call must be.
using Expected = std::function<std::vector<verdict::Expectation>(const verdict::Case&)>;

/// The mistakes that are not told apart, "half-pair, sign-flipped", and so "" where all is well. A
/// mistake is told where in some call some output of one of its oracles is clearly wrong, by 10
/// bounds, and is explained as itself. `calls`: like those of the checks, few and small.
std::string not_told_apart(const std::vector<verdict::Case>& calls,
                           const std::vector<verdict::Oracle>& oracles, const Expected& expected);

/// The ids that stand in a table more than once, or have a way without a sentence: "" where each
/// stands once.
std::string scattered(const std::vector<verdict::Oracle>& oracles);

}  // namespace onepass::tests

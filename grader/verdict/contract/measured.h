// How a function is measured, as far as its description tells.
#pragma once

#include <functional>
#include <vector>

#include "verdict/contract/function.h"
#include "verdict/session/chapter.h"

namespace onepass::verdict::contract {

/// What outputs must be: of a case that is run whole, or of a sample of one.
using Outputs = std::vector<std::function<Expectation(const Case&)>>;
std::vector<Expectation> expectations(const Outputs& outputs, const Case& call);

/// The calls of the function at a shape, and what is expected of a sample (Measurement in
/// session/chapter.h).
Measurement measured(const Function& function, const Outputs& outputs,
                     const Outputs& column_sums = {});

}  // namespace onepass::verdict::contract

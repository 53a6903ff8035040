// How a function is measured, as far as its description tells.
#pragma once

#include <functional>
#include <vector>

#include "verdict/contract/function.h"
#include "verdict/session/chapter.h"

namespace onepass::verdict::contract {

/// The calls of the function at a shape, and what is expected of a sample (Measurement in
/// session/chapter.h).
Measurement measured(const Function& function, const Outputs& outputs,
                     const Outputs& column_sums = {});

}  // namespace onepass::verdict::contract

// How a function is measured, as far as its description tells.
#pragma once

#include <functional>
#include <vector>

#include "verdict/contract/function.h"
#include "verdict/session/chapter.h"

namespace onepass::verdict::contract {

using Expected = std::function<Expectation(const Case& sampled)>;

/// The bytes and calls of the function at the sizes that belong to a shape. outputs, column_sums:
/// what is expected of a sample (Measurement in session/chapter.h).
Measurement measured(const Function& function, Sizes (*sizes)(const Shape&),
                     std::vector<Expected> outputs, std::vector<Expected> column_sums = {});

}  // namespace onepass::verdict::contract

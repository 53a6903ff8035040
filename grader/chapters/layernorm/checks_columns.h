// Checks of column sums that exercises 2.3 and 2.4 share.
#pragma once

#include <functional>

#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

/// Random numbers with two rows that cancel (cancel_rows()).
Gradients cancelling(Dtype dtype, std::int64_t rows, std::int64_t cols);

/// Many rows, among them a few huge ones that cancel, spread at random: whoever adds up some of the
/// rows in 16 bits, in whatever order, loses small numbers beside a huge one.
Gradients scattered(Dtype dtype, std::int64_t rows, std::int64_t cols);

/// Runs the call `times` times. Every result must be right; and if the launcher promises a fixed
/// order, they must agree bit for bit.
void check_repeats(const Case& call, int times, const std::vector<Expectation>& expectations);

}  // namespace onepass::layernorm

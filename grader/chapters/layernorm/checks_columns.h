// A check of column sums that exercises 2.3 and 2.4 share.
#pragma once

#include <vector>

#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

/// Runs the call `times` times. Every result must be right; and if the launcher promises a fixed
/// order, they must agree bit for bit.
void check_repeats(const Case& call, int times, const Outputs& outputs);

/// Checks a call; and where it promises a fixed order, with kernels with which none has before, the
/// same of several rows, called again. What is promised and which kernels are launched are two
/// conditions of the launcher, which need not change at the same size.
common::CheckCall with_repeats(const common::Function& function, const Outputs& outputs);

/// The same of as many rows as the launcher's other kernels take.
void check_repeats_of_many(const common::Function& function, const Outputs& outputs);

}  // namespace onepass::layernorm

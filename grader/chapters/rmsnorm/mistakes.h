// The mistakes of chapter 1 that show in the numbers: for each exercise, what the outputs would be
// in fp64 if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <string>
#include <vector>

#include "chapters/common/forward.h"
#include "chapters/common/mistakes.h"
#include "verdict/diagnosis.h"

namespace onepass::rmsnorm {

/// Of rmsnorm_forward, and of what follows the sum in 1.5. strides: for which that of x may be
/// mistaken.
common::Table<common::ForwardHooks> forward_table(const std::vector<std::string>& strides);

/// Where two mistakes explain an output equally well, the earlier one is named.
std::vector<verdict::Oracle> block_sum_mistakes();
std::vector<verdict::Oracle> forward_mistakes();
std::vector<verdict::Oracle> backward_mistakes();
std::vector<verdict::Oracle> residual_mistakes();

}  // namespace onepass::rmsnorm

// The mistakes of chapter 4 that show in the numbers: for each exercise, what the outputs would be
// in fp64 if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <vector>

#include "chapters/batchnorm/reference.h"
#include "chapters/common/mistakes.h"
#include "verdict/diagnosis.h"

namespace onepass::batchnorm {

/// Where two mistakes explain an output equally well, the earlier one is named.
std::vector<verdict::Oracle> forward_mistakes();
std::vector<verdict::Oracle> evaluate_mistakes();

/// Of 4.1: those in where the running statistics go.
common::Table<Hooks> running_mistakes();
/// Of 4.1 and 4.3: those in how the parts of a channel are put together.
common::Table<Hooks> slice_mistakes();

}  // namespace onepass::batchnorm

// The mistakes of chapter 2 that show in the numbers: for each exercise, what the outputs would be
// if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::layernorm {

/// Where two mistakes explain an output equally well, the earlier one is named.
std::vector<verdict::Oracle> forward_mistakes();
/// Of 2.2 to 2.4.
std::vector<verdict::Oracle> backward_mistakes();

}  // namespace onepass::layernorm

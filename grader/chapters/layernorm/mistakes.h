// The mistakes of chapter 2 that show in the numbers: for each exercise, what the outputs would be
// if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::layernorm {

/// Where two mistakes explain an output equally well, the earlier one is named.
std::vector<verdict::Oracle> forward_mistakes();
std::vector<verdict::Oracle> dx_mistakes();
std::vector<verdict::Oracle> sums_mistakes();
/// Of 2.4: those of dx and those of the sums.
std::vector<verdict::Oracle> fused_mistakes();

/// Totals that do not reach all threads, of dx in 2.2 and 2.4.
void append_dx_thread_mistakes(std::vector<verdict::Oracle>& all);

}  // namespace onepass::layernorm

// The mistakes of chapter 3 that show in the numbers: for each exercise, what the outputs would be
// in fp64 if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::rope {

/// Of 3.1 and 3.2, of 3.3, and of 3.4. Where two mistakes explain an output equally well, the
/// earlier one is named.
std::vector<verdict::Oracle> interleaved_mistakes();
std::vector<verdict::Oracle> half_split_mistakes();
std::vector<verdict::Oracle> fast_mistakes();

}  // namespace onepass::rope

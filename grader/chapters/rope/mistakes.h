// The mistakes of chapter 3 that show in the numbers: for each exercise, what the outputs would be
// in fp64 if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <vector>

#include "chapters/common/mistakes.h"
#include "chapters/rope/reference.h"
#include "verdict/diagnosis.h"

namespace onepass::rope {

/// Of 3.1 and 3.2, and of each of the others. Where two mistakes explain an output equally well,
/// the earlier one is named.
std::vector<verdict::Oracle> interleaved_mistakes();
std::vector<verdict::Oracle> half_split_mistakes();
std::vector<verdict::Oracle> fast_mistakes();
std::vector<verdict::Oracle> qk_norm_mistakes();

/// Those in how heads on q and k are turned that are split as in 3.3.
common::Table<Turn> split_turns();

}  // namespace onepass::rope

// The mistakes of chapter 3 that show in the numbers: for each exercise, what the outputs would be
// in fp64 if it were made. When an output is wrong, the mistake whose numbers it has is named.
#pragma once

#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::rope {

/// Of 3.1 and of 3.2. Where two mistakes explain an output equally well, the earlier one is named.
std::vector<verdict::Oracle> interleaved_mistakes();
std::vector<verdict::Oracle> half_split_mistakes();

/// Those that any rotation can have: its sign, its rounding, its order of reading and writing.
void append_turning_mistakes(std::vector<verdict::Oracle>& all);
/// Those of finding the angle of a pair within a token's row of the tables.
void append_angle_mistakes(std::vector<verdict::Oracle>& all);

}  // namespace onepass::rope

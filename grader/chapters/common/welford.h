// Welford's method with merges that go wrong: the parts of a row that the threads of a block have
// walked through are merged pair by pair, and a pair is two counts, two means, two sums of squares.
#pragma once

#include "chapters/common/forward.h"
#include "chapters/common/mistakes.h"

namespace onepass::common {

Table<ForwardHooks> wrong_merges();

}  // namespace onepass::common

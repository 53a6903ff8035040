// Ways to go wrong in a sum down the columns, over the rows of a tensor: rows that are lost,
// partial sums that are rounded, memory that was not cleared.
#pragma once

#include "chapters/common/backward.h"
#include "chapters/common/mistakes.h"

namespace onepass::common {

/// All of them, those that are commoner first.
Table<BackwardHooks> column_sum_mistakes();

}  // namespace onepass::common

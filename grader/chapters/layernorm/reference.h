// What chapter 2's forward pass should give, in fp64, the plainest code there is. The inputs are
// the numbers as they were rounded to their dtype; nothing here is rounded again. The backward pass
// is in chapters/common/backward.h.
#pragma once

#include "chapters/common/forward.h"
#include "chapters/common/rows.h"

namespace onepass::layernorm {

using common::column_sums;
using common::normalized;
using common::product;
using common::row_means;
using common::row_sums;
using common::Statistics;
using verdict::Field;

/// Of the rows of x.
Statistics statistics(const Field& x, double eps);

}  // namespace onepass::layernorm

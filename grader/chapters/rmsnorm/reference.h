// What chapter 1's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again. The backward pass is
// in chapters/common/backward.h.
#pragma once

#include "chapters/common/rows.h"

namespace onepass::rmsnorm {

using common::column_sums;
using common::product;
using common::row_means;
using common::row_sums;
using verdict::Field;

/// rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps).  x: [rows, cols]. Returns [rows, 1].
Field rms_rstd(const Field& x, double eps);

/// y[r][c] = x[r][c] * rstd[r] * weight[c].  weight: [1, cols].
Field rmsnorm_y(const Field& x, const Field& weight, double eps);

/// a[r][c] + b[r][c].
Field added(const Field& a, const Field& b);

}  // namespace onepass::rmsnorm

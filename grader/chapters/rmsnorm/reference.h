// What chapter 1's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again.
#pragma once

#include "verdict/values/field.h"

namespace onepass::rmsnorm {

using verdict::Field;

/// sums[r] = x[r][0] + ... + x[r][cols - 1].  x: [rows, cols]. Returns [rows, 1].
Field row_sums(const Field& x);

/// What rmsnorm_forward writes.
struct Forward {
  Field y;     // [rows, cols]
  Field rstd;  // [rows, 1]
};

/// rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps).  x: [rows, cols]. Returns [rows, 1].
Field rms_rstd(const Field& x, double eps);

/// y[r][c] = x[r][c] * rstd[r] * weight[c].  x: [rows, cols], rstd: [rows, 1], weight: [1, cols].
Field scaled(const Field& x, const Field& rstd, const Field& weight);

/// Both together.
Forward rmsnorm_forward(const Field& x, const Field& weight, double eps);

}  // namespace onepass::rmsnorm

// What chapter 1's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again.
#pragma once

#include "chapters/common/rows.h"
#include "verdict/values/dtype.h"

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

// ---- The backward pass ----

/// x_hat[r][c] = x[r][c] * rstd[r] as LLaMA's forward pass has it: an fp32 product, rounded to
/// `dtype`.
Field rounded_x_hat(verdict::Dtype dtype, const Field& x, const Field& rstd);

/// dx[r][c] = rstd[r] * (wdy[r][c] - x_hat[r][c] * mean_wdy_hat[r]).
Field row_gradient(const Field& wdy, const Field& x_hat, const Field& rstd,
                   const Field& mean_wdy_hat);

/// The same with the mean that belongs there, of wdy * x_hat.
Field backward_dx(const Field& wdy, const Field& x_hat, const Field& rstd);

}  // namespace onepass::rmsnorm

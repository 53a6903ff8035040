// What chapter 2's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again.
#pragma once

#include "chapters/common/forward.h"
#include "chapters/common/rows.h"

namespace onepass::layernorm {

using common::column_sums;
using common::product;
using common::row_means;
using common::row_sums;
using common::Statistics;
using verdict::Field;

/// Of the rows of x.
Statistics statistics(const Field& x, double eps);

/// x_hat[r][c] = (x[r][c] - mean[r]) * rstd[r].
Field normalized(const Field& x, const Field& mean, const Field& rstd);

/// dx[r][c] = rstd[r] * (wdy[r][c] - mean_wdy[r] - x_hat[r][c] * mean_wdy_hat[r]).
Field row_gradient(const Field& wdy, const Field& x_hat, const Field& rstd, const Field& mean_wdy,
                   const Field& mean_wdy_hat);

/// The same with the means that belong there: of wdy, and of wdy * x_hat.
Field backward_dx(const Field& wdy, const Field& x_hat, const Field& rstd);

}  // namespace onepass::layernorm

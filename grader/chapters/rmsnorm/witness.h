// Derivatives of RMSNorm as differences of the fp64 forward pass: a witness for the reference and
// for what students write that knows nothing of the backward formulas.
#pragma once

#include "verdict/values/field.h"

namespace onepass::rmsnorm {

/// dx[r][c]: how much the sum of dy * y over the row changes with x[r][c].
verdict::Field dx_by_differences(const verdict::Field& dy, const verdict::Field& x,
                                 const verdict::Field& weight, double eps);

/// dweight[c]: how much the sum of dy * y over all rows changes with weight[c]. [1, cols]
verdict::Field dweight_by_differences(const verdict::Field& dy, const verdict::Field& x,
                                      const verdict::Field& weight, double eps);

}  // namespace onepass::rmsnorm

// Calls of exercise 1.5's function, with the names of buffers and scalars that the binding asks
// for, and what its outputs must be.
#pragma once

#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {

/// x, residual [rows, cols], weight [1, cols], eps -> sum, y [rows, cols], rstd [rows, 1].
Case residual_call(Matrix x, Matrix residual, Matrix weight, double eps,
                   const Arrangement& arrangement = {});

Expectation expected_sum(const Case& call);
Expectation expected_residual_rstd(const Case& call);
Expectation expected_residual_y(const Case& call);

/// rmsnorm_forward of the sum: what 1.5 gives, but for the sum itself.
Case forward_of_sum(const Case& call);

}  // namespace onepass::rmsnorm

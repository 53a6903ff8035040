// Calls of chapter 1's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be.
#pragma once

#include <onepass/rmsnorm_types.h>

#include <cstdint>
#include <optional>

#include "chapters/common/calls.h"
#include "chapters/common/gradients.h"

namespace onepass::rmsnorm {

using namespace common;

extern const Function kBlockSum, kForward, kForwardFast, kWideRows, kBackward, kBackwardFast,
    kResidual;

inline constexpr Norm kNorm = {.centred = false, .eps = 1e-6};

// ---- block_sum: x [rows, cols] -> sums [rows, 1] ----

Case block_sum_call(Matrix x, const Arrangement& arrangement = {});
Expectation expected_sums(const Case& call);

// ---- rmsnorm_forward, rmsnorm_forward_fast and rmsnorm_wide_rows:
// x [rows, cols], weight [1, cols], eps -> y [rows, cols], rstd [rows, 1] ----

/// Without a weight the function gets a null pointer, which only the fast ones take.
Case forward_call(Matrix x, std::optional<Matrix> weight, double eps,
                  const Arrangement& arrangement = {}, const Function& function = kForward);
Expectation expected_rstd(const Case& call);
Expectation expected_y(const Case& call);

// ---- rmsnorm_backward and rmsnorm_backward_fast: dy, x [rows, cols], weight [1, cols], rstd
// [rows, 1], order
// -> dx [rows, cols], dweight [1, cols] ----

/// none: "rows" for a call that says it has none, whatever the inputs hold.
Case backward_call(Gradients inputs, CastOrder order, const Arrangement& arrangement = {},
                   const char* none = "", const Function& function = kBackward);
Expectation expected_dx(const Case& call);
Expectation expected_dweight(const Case& call);

CastOrder order_of(const Case& call);
/// What the call's pass is given.
Backward backward_of(const Case& call);

// ---- rmsnorm_residual: x, residual [rows, cols], weight [1, cols], eps
// -> sum, y [rows, cols], rstd [rows, 1] ----

Case residual_call(Matrix x, Matrix residual, Matrix weight, double eps,
                   const Arrangement& arrangement = {});
Expectation expected_sum(const Case& call);
Expectation expected_residual_rstd(const Case& call);
Expectation expected_residual_y(const Case& call);

}  // namespace onepass::rmsnorm

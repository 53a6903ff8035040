// Calls of chapter 1's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chapters/common/calls.h"

namespace onepass::rmsnorm {

using namespace common;

extern const Function kBlockSum, kForward, kForwardFast, kBackward, kResidual;

// ---- block_sum: x [rows, cols] -> sums [rows, 1] ----

Case block_sum_call(Matrix x, const Arrangement& arrangement = {});
Expectation expected_sums(const Case& call);

// ---- rmsnorm_forward and rmsnorm_forward_fast:
// x [rows, cols], weight [1, cols], eps -> y [rows, cols], rstd [rows, 1] ----

/// Without a weight the function gets a null pointer, which only rmsnorm_forward_fast takes.
Case forward_call(Matrix x, std::optional<Matrix> weight, double eps,
                  const Arrangement& arrangement = {}, const Function& function = kForward);
Expectation expected_rstd(const Case& call);
Expectation expected_y(const Case& call);

}  // namespace onepass::rmsnorm

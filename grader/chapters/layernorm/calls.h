// Calls of chapter 2's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chapters/common/calls.h"
#include "chapters/common/gradients.h"

namespace onepass::layernorm {

using namespace common;

extern const Function kForward, kForwardFast, kBackwardDx, kBackwardDweightDbias, kBackward,
    kBackwardFast;

// ---- 2.1 and 2.5: x [rows, cols], weight, bias [1, cols] or none, eps -> y, mean, rstd [rows, 1]
// ----

Case forward_call(Matrix x, std::optional<Matrix> weight, std::optional<Matrix> bias, float eps,
                  const Arrangement& arrangement = {}, const Function& function = kForward);
Expectation expected_mean(const Case& call);
Expectation expected_rstd(const Case& call);
Expectation expected_y(const Case& call);

// ---- 2.2 to 2.4 and 2.6: dy, x [rows, cols], weight [1, cols], mean, rstd [rows, 1] -> dx [rows,
// cols], dweight, dbias [1, cols], and in "returned" [1, 1] the promise of the launcher ----

inline constexpr Norm kNorm = {.centred = true, .eps = 1e-5};

/// Of any of these functions. none: "rows" for a call that says it has none, whatever the inputs
/// hold.
Case backward_call(const Function& function, Gradients inputs, const Arrangement& arrangement = {},
                   const char* none = "");
Expectation expected_dx(const Case& call);
Expectation expected_dweight(const Case& call);
Expectation expected_dbias(const Case& call);

}  // namespace onepass::layernorm

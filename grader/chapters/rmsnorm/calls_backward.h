// Calls of exercise 1.3's function, with the names of buffers and scalars that the binding asks
// for, and what its outputs must be.
#pragma once

#include <onepass/rmsnorm_types.h>

#include "chapters/common/gradients.h"
#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {

inline constexpr Norm kNorm = {.centred = false, .eps = 1e-6};

/// none: "rows" for a call that says it has none, whatever the inputs hold.
Case backward_call(Gradients inputs, CastOrder order, const Arrangement& arrangement = {},
                   const char* none = "");
Expectation expected_dx(const Case& call);
Expectation expected_dweight(const Case& call);

/// Of a backward call.
CastOrder order_of(const Case& call);
/// What its pass is given.
Backward backward_of(const Case& call);

}  // namespace onepass::rmsnorm

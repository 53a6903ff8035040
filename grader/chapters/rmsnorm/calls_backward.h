// Calls of exercise 1.3's function, with the names of buffers and scalars that the binding asks
// for, and what its outputs must be.
#pragma once

#include <onepass/rmsnorm_types.h>

#include "chapters/common/backward.h"
#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {

using common::Backward;

/// What a backward call gets.
struct Gradients {
  Matrix dy, x;   // [rows, cols]
  Matrix weight;  // [1, cols]
  Matrix rstd;    // [rows, 1], fp32
};

/// dy, x and weight, with x's own rstd, rounded to fp32 as the forward pass saves it.
Gradients gradients(Matrix dy, Matrix x, Matrix weight, double eps = 1e-6);

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

// A second witness for the backward passes: derivatives as differences of the fp64 forward pass.
// It knows nothing of the formula for dx, so an error in that would not hide in both.
#pragma once

#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

/// dx of sum(dy * y) by central differences, element by element.  dy, x: [rows, cols], weight:
/// [1, cols]. Meant for small tensors of moderate numbers; good to about 1e-9 of them.
Field dx_by_differences(const Field& dy, const Field& x, const Field& weight, double eps);

}  // namespace onepass::layernorm

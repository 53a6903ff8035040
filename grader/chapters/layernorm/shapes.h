// The inputs that chapter 2's checks share.
#pragma once

#include "chapters/common/shapes.h"
#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

/// All different, from -2 to -1: far from the weights, and from 0.
Matrix random_bias(Dtype dtype, std::int64_t cols);

/// Random dy, x (of this mean) and weight, with x's own statistics.
Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5);

}  // namespace onepass::layernorm

// The inputs that chapter 2's checks share: which widths and why, and matrices made for a purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "chapters/common/shapes.h"
#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

using common::boundary_columns;
using common::draw_rows;
using common::kEveryDtype;
using common::kSixteenBit;
using common::numbers;
using common::Outputs;
using common::small_but_for;
using common::sweep_far_apart;
using common::sweep_rows;
using common::sweep_widths;
using common::zero_but_for;

/// Normally distributed.
Matrix random_tensor(const char* tensor, Dtype dtype, std::int64_t rows, std::int64_t cols,
                     double mean = 0.0, double deviation = 1.0);

/// All different, from 0.5 to 1.5: weights of 1 would not be missed.
Matrix random_weight(Dtype dtype, std::int64_t cols);
/// All different, from -2 to -1: far from the weights, and from 0.
Matrix random_bias(Dtype dtype, std::int64_t cols);

/// Random dy, x (of this mean) and weight, with x's own statistics.
Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5);

}  // namespace onepass::layernorm

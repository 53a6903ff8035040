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
using common::sweep_far_apart;
using common::sweep_rows;

// Widths, in columns.
inline const std::vector<std::int64_t> kUpToAWarp = {2, 3, 17, 31, 32};  // lanes idle, then none
inline const std::vector<std::int64_t> kUpToABlock = {33, 65, 127, 256,  // around warps
                                                      257};  // one more than 256 threads
inline const std::vector<std::int64_t> kWide = {
    769,                // odd, so that only the first row starts on a 16-byte boundary
    1000,               // no power of two, no multiple of a warp, but of a 16-byte access
    1023, 1024, 1025};  // around the largest block

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

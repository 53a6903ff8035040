// The inputs that chapter 1's checks share: which widths and why, and matrices made for a purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "chapters/common/shapes.h"
#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {

using common::boundary_columns;
using common::draw_rows;
using common::kEveryDtype;
using common::kSixteenBit;
using common::numbers;
using common::sweep_far_apart;
using common::sweep_rows;

// Widths, in columns.
inline const std::vector<std::int64_t> kUpToAWarp = {2, 3, 17, 31, 32};  // lanes idle, then none
inline const std::vector<std::int64_t> kUpToABlock = {
    33, 63, 65, 127, 129, 255, 256,  // a warp more than is full, and one that is not
    257};                            // one column more than a block of 256 has threads
inline const std::vector<std::int64_t> kWide = {
    769,                // odd, so that only the first row starts on a 16-byte boundary
    1000,               // no power of two, no multiple of a warp: 3 strides and 232 columns
    1023, 1024, 1025};  // around the largest block

/// Normally distributed.
Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0,
                double deviation = 1.0);

/// Weights [1, cols], all different, from 0.5 to 1.5: weights of 1 would not be missed.
Matrix random_weight(Dtype dtype, std::int64_t cols);

}  // namespace onepass::rmsnorm

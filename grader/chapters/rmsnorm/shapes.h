// The inputs that chapter 1's checks share: which widths and why, and matrices made for a purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "chapters/rmsnorm/calls.h"
#include "verdict/session/session.h"

namespace onepass::rmsnorm {

inline const std::vector<Dtype> kEveryDtype = {Dtype::fp32, Dtype::fp16, Dtype::bf16};
inline const std::vector<Dtype> kSixteenBit = {Dtype::fp16, Dtype::bf16};

// Widths, in columns.
inline const std::vector<std::int64_t> kUpToAWarp = {2, 3, 17, 31, 32};  // lanes idle, then none
inline const std::vector<std::int64_t> kUpToABlock = {
    33, 63, 65, 127, 129, 255, 256,  // a warp more than is full, and one that is not
    257};                            // one column more than a block of 256 has threads
inline const std::vector<std::int64_t> kWide = {
    769,                // odd, so that only the first row starts on a 16-byte boundary
    1000,               // no power of two, no multiple of a warp: 3 strides and 232 columns
    1023, 1024, 1025};  // around the largest block

/// Where the rows lie: how much further apart than they are wide, and how far past an aligned
/// address they start. In elements.
struct Placement {
  std::int64_t cols, gap, offset;
};
inline const std::vector<Placement> kPlacements = {
    {100, 7, 0},    // rows apart, at odd distances
    {256, 64, 0},   // rows apart, each on a 16-byte boundary
    {256, 64, 1},   // the same, each one element past the boundary
    {1001, 0, 0},   // rows touch, but only the first starts on a boundary
    {1001, 7, 0},   // each row starts on a boundary, and the last columns fill no vector
    {1000, 24, 3},  // all at once
};

/// The running check's random numbers for the tensor of that name and shape.
verdict::Random numbers(const char* tensor, Dtype dtype, std::int64_t rows, std::int64_t cols);

/// Normally distributed.
Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0,
                double deviation = 1.0);

/// Weights [1, cols], all different, from 0.5 to 1.5: weights of 1 would not be missed.
Matrix random_weight(Dtype dtype, std::int64_t cols);

/// The first and the last column, and those on both sides of where warps, blocks and vectors end.
std::vector<std::int64_t> boundary_columns(std::int64_t cols);

/// A shape drawn from the seed, so that no list of shapes can be learned by heart.
struct DrawnShape {
  Dtype dtype;
  std::int64_t rows, cols;
  Layout x, y;
};
DrawnShape drawn_shape(std::uint64_t number);

/// A placement as a layout.
Layout layout_of(const Placement& placement);

}  // namespace onepass::rmsnorm

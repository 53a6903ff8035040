// The inputs that chapter 3's checks share: which sizes of heads and why, tensors and tables.
#pragma once

#include <cstdint>
#include <vector>

#include "chapters/common/shapes.h"
#include "chapters/rope/calls.h"

namespace onepass::rope {

using common::kEveryDtype;
using common::kSixteenBit;
using common::numbers;

// Elements of a head.
inline const std::vector<std::int64_t> kHeadDims = {
    2,                 // a single pair
    4,  6,  10,        // fewer pairs than 16 bytes hold, or no multiple of that
    16, 64, 128, 256,  // as models have them
    80, 96,            // no powers of two, but multiples of 16 bytes
    30, 66, 258};      // the same off by a pair

/// The base of the frequencies; pair i of d / 2 turns by base^(-2i / d) from token to token.
inline constexpr double kBase = 10000.0;

/// Normally distributed, [tokens, heads * head_dim].
Matrix random_x(Dtype dtype, std::int64_t tokens, std::int64_t cols, double deviation = 1.0,
                const char* tensor = "x");

/// Row r holds the angles of position first + r.
Tables tables(std::int64_t first, std::int64_t rows, std::int64_t half, Dtype dtype = Dtype::fp32,
              double base = kBase);

/// [tokens, 1].
Matrix positions(Dtype dtype, const std::vector<std::int64_t>& values);

/// 0, 1, 2, ...
std::vector<std::int64_t> counting(std::int64_t tokens);

/// `count` positions below `rows`, drawn from the seed, most of them different.
std::vector<std::int64_t> drawn_positions(std::int64_t count, std::int64_t rows);

/// A shape drawn from the seed, so that no list of shapes can be learned by heart.
struct DrawnShape {
  Dtype dtype;
  std::int64_t tokens, heads, k_heads, head_dim, rotary_dim;
  std::int64_t first;  // position
};
DrawnShape drawn_shape(std::uint64_t number);
/// How its tensors lie.
Arrangement drawn_arrangement(const Function& function, std::uint64_t number);

}  // namespace onepass::rope

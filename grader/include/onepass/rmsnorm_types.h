// Chapter 1: what exercise 1.3 takes besides tensors. Without CUDA's headers, so that the grader
// can include it too.
#pragma once

#include <cstdint>

namespace onepass {

/// What the forward pass did with the normalised value x̂ = x * rstd before the weight. For fp32
/// both are the same.
enum class CastOrder {
  weight_in_fp32,  // nothing: y = T(x̂ * weight), as in exercise 1.2
  llama            // x̂ was rounded to T: y = T(T(x̂) * weight), as the LLaMA models do it
};

/// The most groups of rows whose sums scratch has room for, for each column.
constexpr int kRmsnormMostGroups = 512;

/// How many groups there may be: no more than there are rows.
constexpr int rmsnorm_groups(int rows) {
  return rows < kRmsnormMostGroups ? rows : kRmsnormMostGroups;
}

/// The size of `scratch`, in fp32 numbers: a row of cols partial sums for each group.
constexpr int64_t rmsnorm_scratch_size(int rows, int cols) {
  return static_cast<int64_t>(rmsnorm_groups(rows)) * cols;
}

}  // namespace onepass

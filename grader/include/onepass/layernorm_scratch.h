// Chapter 2: how much memory the launchers of 2.3 and 2.4 get for partial sums. Without CUDA's
// headers, so that the grader can include it too.
#pragma once

#include <cstdint>

namespace onepass {

/// The most groups of rows whose sums 2.3 and 2.4 have room for, for each column.
constexpr int kLayernormMostGroups = 512;

/// How many groups there may be: no more than there are rows.
constexpr int layernorm_groups(int rows) {
  return rows < kLayernormMostGroups ? rows : kLayernormMostGroups;
}

/// The size of `scratch`, in numbers of 32 bits: for each group a row of cols partial sums for
/// dweight, one for dbias, and two numbers more. (The solutions have no use for these two. Who lets
/// groups share a row of sums can keep a lock and a count there, and set them to 0 first, by
/// cudaMemsetAsync().)
constexpr int64_t layernorm_scratch_size(int rows, int cols) {
  return 2 * static_cast<int64_t>(layernorm_groups(rows)) * (static_cast<int64_t>(cols) + 1);
}

}  // namespace onepass

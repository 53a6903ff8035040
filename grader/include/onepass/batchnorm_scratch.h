// Chapter 4: how much memory 4.3 gets for partial results. Without CUDA's headers, so that the
// grader can include it too.
#pragma once

#include <cstdint>

namespace onepass {

/// The most parts of a channel whose statistics scratch has room for.
constexpr int kBatchnormMostSlices = 512;

/// How many parts there may be: each of 128 elements at least, so that a short channel has none.
constexpr int batchnorm_slices(int batch, int space) {
  const int slices = batch * space / 128;
  return slices < kBatchnormMostSlices ? slices : kBatchnormMostSlices;
}

/// The size of `scratch`, in numbers of 32 bits: three for each part of each channel, such as its
/// count, its mean, and the sum of the squares of the distances from it.
constexpr int64_t batchnorm_scratch_size(int batch, int channels, int space) {
  return 3 * static_cast<int64_t>(channels) * batchnorm_slices(batch, space);
}

}  // namespace onepass

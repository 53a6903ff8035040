// Given device code: the backward passes of RMSNorm and LayerNorm for rows of any width, at any
// address, on any GPU. Scalar accesses, one block per group of rows, and dy and x are loaded twice.
#pragma once

#include <onepass/ring.h>

namespace onepass {

/// kMean: LayerNorm, otherwise RMSNorm, which has no mean and no dbias. rounded: x̂ counts in
/// dweight as rounded to T. The sums of block b are left in row b of the partial sums.
template <typename T, bool kMean>
__global__ void __launch_bounds__(512)
    plain_backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, float* partial_dweight, float* partial_dbias,
                          bool rounded, int rows, int cols) {
  RowSums<false> row_sums;
  float* sum_dweight = partial_dweight + static_cast<int64_t>(blockIdx.x) * cols;
  float* sum_dbias = partial_dbias + static_cast<int64_t>(blockIdx.x) * cols;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    sum_dweight[col] = 0.0f;
    if (kMean) {
      sum_dbias[col] = 0.0f;
    }
  }
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float row_mean = kMean ? mean[row] : 0.0f;
    const float row_rstd = rstd[row];
    float2 sums = {0.0f, 0.0f};
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      const float x_hat = (static_cast<float>(x[row * x_stride + col]) - row_mean) * row_rstd;
      const float wdy = static_cast<float>(weight[col]) * dy_value;
      sums.x += wdy;
      sums.y += wdy * x_hat;
      sum_dweight[col] += dy_value * (rounded ? static_cast<float>(static_cast<T>(x_hat)) : x_hat);
      if (kMean) {
        sum_dbias[col] += dy_value;
      }
    }
    sums = row_sums(sums);
    const float mean_wdy = kMean ? sums.x / cols : 0.0f;
    const float mean_wdy_hat = sums.y / cols;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      const float x_hat = (static_cast<float>(x[row * x_stride + col]) - row_mean) * row_rstd;
      const float wdy = static_cast<float>(weight[col]) * dy_value;
      dx[row * dx_stride + col] =
          static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
  }
}

/// Returns the number of groups that left a row of sums.
template <bool kMean, typename T>
int plain_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* mean, const float* rstd, T* dx, int64_t dx_stride,
                   float* partial_dweight, float* partial_dbias, bool rounded, int groups, int rows,
                   int cols, cudaStream_t stream) {
  plain_backward_kernel<T, kMean>
      <<<groups, 512, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride,
                                   partial_dweight, partial_dbias, rounded, rows, cols);
  return groups;
}

}  // namespace onepass

// Given: RMSNorm and LayerNorm of rows of any width, on any GPU, for the fast exercises to fall
// back to where a row is too wide for them. One block per row, one column at a time, and the row is
// loaded again for each of its sums: the way of exercises 1.2 and 2.1.
#pragma once

#include <onepass/fast.h>

namespace onepass::plain {

constexpr int kThreads = 256;

/// residual and sum: as in rmsnorm_residual(), or both null. mean: null in RMSNorm, where the mean
/// counts as 0. weight and bias: each may be null.
template <typename T>
__global__ void rows_kernel(const T* x, int64_t x_stride, const T* residual,
                            int64_t residual_stride, T* sum, int64_t sum_stride, const T* weight,
                            const T* bias, T* y, int64_t y_stride, float* mean, float* rstd,
                            int cols, float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  RowSum<false> row_sum;
  if (residual != nullptr) {
    T* sum_row = sum + row * sum_stride;
    for (int c = threadIdx.x; c < cols; c += kThreads) {
      sum_row[c] = static_cast<T>(static_cast<float>(x_row[c]) +
                                  static_cast<float>(residual[row * residual_stride + c]));
    }
    x_row = sum_row;  // each thread loads only what it has stored itself
  }
  float row_mean = 0.0f;
  if (mean != nullptr) {
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += kThreads) {
      total += static_cast<float>(x_row[c]);
    }
    row_mean = row_sum(total) / cols;
  }
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    const float centred = static_cast<float>(x_row[c]) - row_mean;
    squares += centred * centred;
  }
  const float row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
    if (mean != nullptr) {
      mean[row] = row_mean;
    }
  }
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[c]);
    const float offset = bias == nullptr ? 0.0f : static_cast<float>(bias[c]);
    y_row[c] =
        static_cast<T>((static_cast<float>(x_row[c]) - row_mean) * row_rstd * factor + offset);
  }
}

template <typename T>
void rmsnorm(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
             int rows, int cols, float eps, cudaStream_t stream) {
  rows_kernel<T><<<rows, kThreads, 0, stream>>>(x, x_stride, nullptr, 0, nullptr, 0, weight,
                                                nullptr, y, y_stride, nullptr, rstd, cols, eps);
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  rows_kernel<T><<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, sum,
                                                sum_stride, weight, nullptr, y, y_stride, nullptr,
                                                rstd, cols, eps);
}

template <typename T>
void layernorm(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
               float* mean, float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  rows_kernel<T><<<rows, kThreads, 0, stream>>>(x, x_stride, nullptr, 0, nullptr, 0, weight, bias,
                                                y, y_stride, mean, rstd, cols, eps);
}

}  // namespace onepass::plain

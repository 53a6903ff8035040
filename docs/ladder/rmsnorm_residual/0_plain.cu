// RMSNorm with the residual, version 0: plain. Exercise 1.2 with the addition in its first loop:
// one block per row, one column per access. The second loop loads the sum that the first one has
// stored: five tensors pass through memory where four would do.
//
// In version 1 an access moves 16 bytes.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // per row

/// No `__restrict__`: sum may be residual, and y may be x. So the loads of a turn of the first loop
/// wait for the store of the turn before.
template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int cols,
                                float eps) {
  RowSum<false> row_sum;
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const T* residual_row = residual + row * residual_stride;
  T* sum_row = sum + row * sum_stride;
  T* y_row = y + row * y_stride;

  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const T both =
        static_cast<T>(static_cast<float>(x_row[col]) + static_cast<float>(residual_row[col]));
    sum_row[col] = both;
    const float value = static_cast<float>(both);
    squares += value * value;
  }
  const float row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float normalized = static_cast<float>(sum_row[col]) * row_rstd;
    y_row[col] = static_cast<T>(normalized * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  residual_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight,
                                                 sum, sum_stride, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

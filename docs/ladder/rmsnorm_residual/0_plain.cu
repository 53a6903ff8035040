// RMSNorm with the residual, version 0: plain. Exercise 1.2 with the addition in its first walk: a
// block a row, one column at a time. The second walk loads the sum that the first one has stored:
// five tensors pass where four would do.
//
// In version 1 a thread moves 16 bytes at a time.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1).
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < kWarps ? partial[lane] : 0.0f);
}

/// One block a row. No `__restrict__`: sum may be residual, and y may be x. So the loads of a turn
/// of the first loop wait for the store of the turn before it.
template <typename T>
__global__ void row_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                           const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                           float* rstd, int cols, float eps) {
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
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
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
  row_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                            sum_stride, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

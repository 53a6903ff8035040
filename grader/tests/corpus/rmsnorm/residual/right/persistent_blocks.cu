// slow: all rows in few blocks
// Right: a few blocks walk over all rows; the next row's slots are others than this row's. Rows of
// up to 16,384 columns wait in registers.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 1024;
constexpr int kMostBlocks = 20;
constexpr int kHeld = 16;

template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  __shared__ float slots[2][kThreads / 32];
  int parity = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, parity ^= 1) {
    float held[kHeld];
    float squares = 0.0f;
    int n = 0;
    for (int col = threadIdx.x; col < cols; col += kThreads, ++n) {
      const T rounded = static_cast<T>(static_cast<float>(residual[row * residual_stride + col]) +
                                       static_cast<float>(x[row * x_stride + col]));
      sum[row * sum_stride + col] = rounded;
      const float value = static_cast<float>(rounded);
      if (n < kHeld) {
        held[n] = value;
      }
      squares += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    if (threadIdx.x % 32 == 0) {
      slots[parity][threadIdx.x / 32] = squares;
    }
    __syncthreads();
    squares = slots[parity][threadIdx.x % 32];
    for (int offset = 16; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    const float scale = rsqrtf(squares / cols + eps);
    if (threadIdx.x == 0) {
      rstd[row] = scale;
    }
    n = 0;
    for (int col = threadIdx.x; col < cols; col += kThreads, ++n) {
      const float value = n < kHeld ? held[n] : static_cast<float>(sum[row * sum_stride + col]);
      y[row * y_stride + col] = static_cast<T>(value * scale * static_cast<float>(weight[col]));
    }
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  residual_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight,
                                                   sum, sum_stride, y, y_stride, rstd, rows, cols,
                                                   eps);
}

}  // namespace onepass

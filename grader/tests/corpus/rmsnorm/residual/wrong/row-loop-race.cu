// diagnosis: row-loop-race
// not: added-twice
// Persistent blocks that walk through rows with one set of partial sums and one barrier a row: a
// fast warp overwrites the slots of the row before.

#include <onepass/rmsnorm.h>

namespace onepass {

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

constexpr int kThreads = 512;

template <typename T, int kEach>
__global__ void __launch_bounds__(kThreads)
    walk_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int rows, int cols, float eps) {
  __shared__ float partial[kThreads / 32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float held[kEach] = {};
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int c = threadIdx.x + k * kThreads;
      if (c < cols) {
        const T added = static_cast<T>(static_cast<float>(x[row * x_stride + c]) +
                                       static_cast<float>(residual[row * residual_stride + c]));
        sum[row * sum_stride + c] = added;
        held[k] = static_cast<float>(added);
        squares += held[k] * held[k];
      }
    }
    squares = warp_sum(squares);
    if (lane == 0) {
      partial[warp] = squares;
    }
    __syncthreads();
    const float total = warp_sum(lane < kThreads / 32 ? partial[lane] : 0.0f);
    const float r = rsqrtf(total / cols + eps);
    if (threadIdx.x == 0) {
      rstd[row] = r;
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int c = threadIdx.x + k * kThreads;
      if (c < cols) {
        y[row * y_stride + c] = static_cast<T>(held[k] * r * static_cast<float>(weight[c]));
      }
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
  const int blocks = rows < 264 ? rows : 264;
  if (cols <= 8 * kThreads) {
    walk_kernel<T, 8><<<blocks, kThreads, 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  } else if (cols <= 32 * kThreads) {
    walk_kernel<T, 32><<<blocks, kThreads, 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  } else {
    walk_kernel<T, 128><<<blocks, kThreads, 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  }
}

}  // namespace onepass

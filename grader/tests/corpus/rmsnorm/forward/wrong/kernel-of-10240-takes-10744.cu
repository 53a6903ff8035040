// diagnosis: tail-dropped
// Which kernel holds a row is decided by cols / 512, rounded down: rows of 10,241 to 10,751 columns go to
// the one that holds 10,240.
// RMSNorm forward. Rows that a block's registers hold are read once; wider ones twice.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kBlockThreads = 512;
constexpr int kSmallItems = 4;
constexpr int kLargeItems = 20;

__device__ inline float sum_over_block(float v) {
  __shared__ float slots[32];
  const int lane = threadIdx.x & 31;
  for (int mask = 1; mask < 32; mask *= 2) {
    v += __shfl_xor_sync(0xffffffff, v, mask);
  }
  if (lane == 0) {
    slots[threadIdx.x >> 5] = v;
  }
  __syncthreads();
  v = lane < kBlockThreads / 32 ? slots[lane] : 0.0f;
  for (int mask = 1; mask < 32; mask *= 2) {
    v += __shfl_xor_sync(0xffffffff, v, mask);
  }
  return v;
}

template <typename T, int kItems>
__global__ void __launch_bounds__(kBlockThreads)
    held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  const int64_t row = blockIdx.x;
  x += row * x_stride;
  y += row * y_stride;
  float held[kItems];
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int col = k * kBlockThreads + threadIdx.x;
    held[k] = col < cols ? static_cast<float>(x[col]) : 0.0f;
    squares += held[k] * held[k];
  }
  const float scale = rsqrtf(sum_over_block(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int col = k * kBlockThreads + threadIdx.x;
    if (col < cols) {
      y[col] = static_cast<T>(held[k] * scale * static_cast<float>(weight[col]));
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    twice_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                 int cols, float eps) {
  const int64_t row = blockIdx.x;
  x += row * x_stride;
  y += row * y_stride;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kBlockThreads) {
    const float value = static_cast<float>(x[col]);
    squares += value * value;
  }
  const float scale = rsqrtf(sum_over_block(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int col = threadIdx.x; col < cols; col += kBlockThreads) {
    const float value = static_cast<float>(x[col]);
    y[col] = static_cast<T>(value * scale * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  if (cols <= kSmallItems * kBlockThreads) {
    held_kernel<T, kSmallItems><<<rows, kBlockThreads, 0, stream>>>(x, x_stride, weight, y,
                                                                    y_stride, rstd, cols, eps);
    return;
  }
  const int items = cols / kBlockThreads;
  if (items <= kLargeItems) {
    held_kernel<T, kLargeItems><<<rows, kBlockThreads, 0, stream>>>(x, x_stride, weight, y,
                                                                    y_stride, rstd, cols, eps);
  } else {
    twice_kernel<T><<<rows, kBlockThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                        cols, eps);
  }
}

}  // namespace onepass

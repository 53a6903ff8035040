// Right: shuffle down to lane 0, and one shared number to tell the block.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

__device__ float warp_sum_in_lane_0(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  __shared__ float partial[kThreads / 32];
  __shared__ float shared_rstd;
  const T* x_row = x + blockIdx.x * x_stride;
  T* y_row = y + blockIdx.x * y_stride;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  }
  squares = warp_sum_in_lane_0(squares);
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    squares = warp_sum_in_lane_0(threadIdx.x < kThreads / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) {
      shared_rstd = rsqrtf(squares / cols + eps);
      rstd[blockIdx.x] = shared_rstd;
    }
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]) * shared_rstd;
    y_row[col] = static_cast<T>(value * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  rmsnorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

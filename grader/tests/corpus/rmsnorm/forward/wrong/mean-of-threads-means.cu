// diagnosis: welford-counts
// not: wrong-count
// says: Each thread divided by the number of its own columns
// Each thread takes the mean of its own squares, and these means are averaged as if each were of
// equally many: wrong where cols is no multiple of the threads. In 16 bits it comes near to
// dividing by one too many.

#include <onepass/rmsnorm.h>

namespace onepass {

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum over the block's threads, in all of them; called once in a kernel.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

constexpr int kThreads = 256;

/// A mean that does not grow with the number of columns.
template <typename T>
__device__ float mean_square(const T* row, int cols) {
  float mean = 0.0f;
  int count = 0;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float value = static_cast<float>(row[col]);
    ++count;
    mean += (value * value - mean) / count;
  }
  const int busy = min(cols, static_cast<int>(blockDim.x));  // threads that have a column
  return block_sum_of(mean) / busy;
}

template <typename T>
__global__ void forward_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  const int64_t row = blockIdx.x;
  x += row * x_stride;
  y += row * y_stride;
  const float scale = rsqrtf(mean_square(x, cols) + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    y[col] = static_cast<T>(static_cast<float>(x[col]) * scale * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    forward_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols,
                                                  eps);
  }
}

}  // namespace onepass

// Right: at most eight blocks walk over all rows; a barrier guards the slots between two rows.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  __shared__ float partial[kThreads / 32];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      sum += static_cast<float>(x[row * x_stride + col]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
      partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      sums[row] = partial[0] + partial[1] + partial[2] + partial[3];
    }
    __syncthreads();  // thread 0 has read the slots; the next row may overwrite them
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows < 8 ? rows : 8;
  block_sum_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, sums, rows, cols);
}

}  // namespace onepass

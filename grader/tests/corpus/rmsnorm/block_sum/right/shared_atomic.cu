// Right: every thread adds its share to one shared number with atomicAdd.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  __shared__ float total;
  if (threadIdx.x == 0) {
    total = 0.0f;
  }
  __syncthreads();
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    share += static_cast<float>(x[blockIdx.x * x_stride + col]);
  }
  atomicAdd(&total, share);
  __syncthreads();
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = total;
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<rows, 64, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass

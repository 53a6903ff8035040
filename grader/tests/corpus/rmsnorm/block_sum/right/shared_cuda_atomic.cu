// Right: every thread adds its share to one cuda::atomic in shared memory.

#include <onepass/rmsnorm.h>

#include <cuda/atomic>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  __shared__ cuda::atomic<float, cuda::thread_scope_block> total;
  if (threadIdx.x == 0) {
    total.store(0.0f, cuda::memory_order_relaxed);
  }
  __syncthreads();
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    share += static_cast<float>(x[blockIdx.x * x_stride + col]);
  }
  total.fetch_add(share, cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = total.load(cuda::memory_order_relaxed);
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

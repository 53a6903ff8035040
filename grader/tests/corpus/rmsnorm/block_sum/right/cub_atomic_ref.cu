// Right: several blocks a row, whose sums meet in a cuda::atomic_ref.

#include <onepass/rmsnorm.h>

#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>

namespace onepass {

constexpr int kThreads = 128;

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  using WarpReduce = cub::WarpReduce<float>;
  __shared__ typename WarpReduce::TempStorage temp[kThreads / 32];
  const int64_t row = blockIdx.x;
  float share = 0.0f;
  for (int col = blockIdx.y * kThreads + threadIdx.x; col < cols; col += gridDim.y * kThreads) {
    share += static_cast<float>(x[row * x_stride + col]);
  }
  const float sum = WarpReduce(temp[threadIdx.x / 32]).Sum(share);
  if (threadIdx.x % 32 == 0) {
    cuda::atomic_ref<float, cuda::thread_scope_device> total(sums[row]);
    total.fetch_add(sum, cuda::memory_order_relaxed);
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) {
    cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
    const dim3 grid(rows, cols < 4096 ? 1 : 4);
    block_sum_kernel<<<grid, kThreads, 0, stream>>>(x, x_stride, sums, cols);
  }
}

}  // namespace onepass

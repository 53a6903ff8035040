// Right: cub::BlockReduce, whose storage a block uses again for its next row, behind a barrier.

#include <onepass/rmsnorm.h>

#include <cub/block/block_reduce.cuh>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 64;

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  using BlockReduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename BlockReduce::TempStorage temp;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float share = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      share += static_cast<float>(x[row * x_stride + col]);
    }
    const float sum = BlockReduce(temp).Sum(share);
    if (threadIdx.x == 0) {
      sums[row] = sum;
    }
    __syncthreads();
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) {
    const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
    block_sum_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, sums, rows, cols);
  }
}

}  // namespace onepass

// diagnosis: missing-syncwarp
// not: bad-shuffle-mask, unordered-blocks, accumulated-into-garbage
// A warp a row; its lanes exchange shares through shared memory as if they ran in step.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  __shared__ float shares[32];
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    share += static_cast<float>(x[blockIdx.x * x_stride + col]);
  }
  shares[threadIdx.x] = share;
  for (int half = 16; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = shares[0];
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<rows, 32, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass

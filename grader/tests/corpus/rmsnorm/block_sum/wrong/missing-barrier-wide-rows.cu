// diagnosis: missing-barrier
// not: unordered-blocks, state-kept, accumulated-into-garbage
// A tree without barriers: narrow rows have one warp, wide ones have more.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  __shared__ float shares[256];
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    share += static_cast<float>(x[blockIdx.x * x_stride + col]);
  }
  shares[threadIdx.x] = share;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
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
  int threads = 32;
  while (threads < cols && threads < 256) {
    threads *= 2;
  }
  block_sum_kernel<<<rows, threads, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass

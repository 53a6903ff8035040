// diagnosis: tree-needs-power-of-two
// 96 threads, halved to 48, 24, 12, 6, 3, 1: the third of the last three is dropped.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 96;

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  __shared__ float shares[kThreads];
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    share += static_cast<float>(x[blockIdx.x * x_stride + col]);
  }
  shares[threadIdx.x] = share;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
    __syncthreads();
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
  block_sum_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass

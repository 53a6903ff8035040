// Right: no shuffles: a tree in dynamic shared memory, 128 threads.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  extern __shared__ float shares[];
  const T* x_row = x + blockIdx.x * x_stride;
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    share += static_cast<float>(x_row[col]);
  }
  shares[threadIdx.x] = share;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
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
  block_sum_kernel<<<rows, 128, 128 * sizeof(float), stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass

// Right: two blocks a row: sums is set to zero on the stream, then each block adds its half.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  const int64_t row = blockIdx.x;
  const int half = (cols + 1) / 2;
  const int first = blockIdx.y == 0 ? 0 : half;
  const int last = blockIdx.y == 0 ? half : cols;
  float sum = 0.0f;
  for (int col = first + threadIdx.x; col < last; col += blockDim.x) {
    sum += static_cast<float>(x[row * x_stride + col]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sums[row], sum);
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
  block_sum_kernel<<<dim3(rows, 2), 96, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass

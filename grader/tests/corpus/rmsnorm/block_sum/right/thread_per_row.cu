// Right: one thread adds up a whole row, 128 rows a block.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) {
    return;
  }
  float sum = 0.0f;
  for (int col = 0; col < cols; ++col) {
    sum += static_cast<float>(x[row * x_stride + col]);
  }
  sums[row] = sum;
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<(rows - 1) / 128 + 1, 128, 0, stream>>>(x, x_stride, sums, rows, cols);
}

}  // namespace onepass

// Right: a warp a row, four rows a block, no shared memory; the last block may be partly idle.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= rows) {
    return;  // whole warps leave together
  }
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    sum += static_cast<float>(x[row * x_stride + col]);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  }
  if (threadIdx.x == 0) {
    sums[row] = sum;
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<(rows - 1) / 4 + 1, dim3(32, 4), 0, stream>>>(x, x_stride, sums, rows, cols);
}

}  // namespace onepass

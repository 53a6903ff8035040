// Right: eight threads a row with Kahan summation; 96 threads, so twelve rows a block.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 12 + threadIdx.x / 8;
  float sum = 0.0f;
  float lost = 0.0f;
  if (row < rows) {
    for (int col = threadIdx.x % 8; col < cols; col += 8) {
      const float value = static_cast<float>(x[row * x_stride + col]) - lost;
      const float next = sum + value;
      lost = (next - sum) - value;
      sum = next;
    }
  }
  for (int offset = 4; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset, 8);
  }
  if (row < rows && threadIdx.x % 8 == 0) {
    sums[row] = sum;
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<(rows - 1) / 12 + 1, 96, 0, stream>>>(x, x_stride, sums, rows, cols);
}

}  // namespace onepass

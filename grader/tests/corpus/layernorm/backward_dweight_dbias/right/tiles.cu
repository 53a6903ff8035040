// Right: one stage. A block of 32 columns by 8 rows walks down; the 8 meet in shared memory.

#include <onepass/layernorm.h>

namespace onepass {

template <typename T>
__global__ void tiles_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const float* mean, const float* rstd, T* dweight, T* dbias, int rows,
                             int cols) {
  __shared__ float shares[2][8][32];
  const int col = blockIdx.x * 32 + threadIdx.x;
  float sum_dweight = 0.0f;
  float sum_dbias = 0.0f;
  for (int64_t row = threadIdx.y; row < rows && col < cols; row += 8) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    sum_dweight += dy_value * x_hat;
    sum_dbias += dy_value;
  }
  shares[0][threadIdx.y][threadIdx.x] = sum_dweight;
  shares[1][threadIdx.y][threadIdx.x] = sum_dbias;
  __syncthreads();
  if (threadIdx.y < 2 && col < cols) {  // one warp for each of the two sums
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i) {
      sum += shares[threadIdx.y][i][threadIdx.x];
    }
    (threadIdx.y == 0 ? dweight : dbias)[col] = static_cast<T>(sum);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  (void)scratch;
  tiles_kernel<<<(cols + 31) / 32, dim3(32, 8), 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd,
                                                             dweight, dbias, rows, cols);
  return Summation::fixed_order;
}

}  // namespace onepass

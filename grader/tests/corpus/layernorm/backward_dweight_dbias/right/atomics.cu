// Right: fp32 totals in scratch, set to zero, and atomicAdd for every row; then one rounding to T.
// No two runs add in the same order, and the launcher says so.

#include <onepass/layernorm.h>

namespace onepass {

/// One block a row: each thread adds its columns to the totals, whoever comes first.
template <typename T>
__global__ void add_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd, float* totals, int cols) {
  const int64_t row = blockIdx.x;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    atomicAdd(&totals[col], dy_value * x_hat);
    atomicAdd(&totals[cols + col], dy_value);
  }
}

template <typename T>
__global__ void convert_kernel(const float* totals, T* dweight, T* dbias, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    dweight[col] = static_cast<T>(totals[col]);
    dbias[col] = static_cast<T>(totals[cols + col]);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    cudaMemsetAsync(dbias, 0, cols * sizeof(T), stream);
    return Summation::any_order;
  }
  cudaMemsetAsync(scratch, 0, 2 * cols * sizeof(float), stream);
  add_rows_kernel<<<rows, 128, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, scratch, cols);
  convert_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, dbias, cols);
  return Summation::any_order;
}

}  // namespace onepass

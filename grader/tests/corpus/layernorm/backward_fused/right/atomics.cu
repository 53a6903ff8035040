// Right: dx in a kernel of its own; the sums by atomicAdd on fp32 totals, in any order.

#include <onepass/layernorm.h>

namespace onepass {

template <typename T>
__device__ float wdy_at(const T* dy_row, const T* weight, int col) {
  const float value = static_cast<float>(dy_row[col]);
  return weight != nullptr ? value * static_cast<float>(weight[col]) : value;
}

/// dx alone, one warp a row.
template <typename T>
__global__ void dx_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                               const T* weight, const float* mean, const float* rstd, T* dx,
                               int64_t dx_stride, int rows, int cols) {
  const int64_t row = blockIdx.x;
  (void)rows;
  float sum = 0.0f;
  float sum_hat = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float wdy = wdy_at(dy + row * dy_stride, weight, col);
    sum += wdy;
    sum_hat += wdy * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    sum_hat += __shfl_xor_sync(0xffffffffu, sum_hat, offset);
  }
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float wdy = wdy_at(dy + row * dy_stride, weight, col);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    dx[row * dx_stride + col] =
        static_cast<T>(rstd[row] * (wdy - sum / cols - x_hat * (sum_hat / cols)));
  }
}

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
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  if (rows > 0) {
    dx_rows_kernel<<<rows, 32, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                            dx_stride, rows, cols);
  }
  cudaMemsetAsync(scratch, 0, (rows > 0 ? 2 * cols : 0) * sizeof(float), stream);
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    cudaMemsetAsync(dbias, 0, cols * sizeof(T), stream);
    return Summation::any_order;
  }
  add_rows_kernel<<<rows, 128, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, scratch, cols);
  convert_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, dbias, cols);
  return Summation::any_order;
}

}  // namespace onepass

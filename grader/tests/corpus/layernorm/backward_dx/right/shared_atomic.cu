// Right: every element adds to the sums in shared memory by atomicAdd; 1024 threads a block.

#include <onepass/layernorm.h>

namespace onepass {

template <typename T>
__device__ float wdy_at(const T* dy_row, const T* weight, int col) {
  const float value = static_cast<float>(dy_row[col]);
  return weight != nullptr ? value * static_cast<float>(weight[col]) : value;
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, int rows, int cols) {
  __shared__ float sum;
  __shared__ float sum_hat;
  if (threadIdx.x == 0) {
    sum = 0.0f;
    sum_hat = 0.0f;
  }
  __syncthreads();
  const int64_t row = blockIdx.x;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float wdy = wdy_at(dy + row * dy_stride, weight, col);
    atomicAdd(&sum, wdy);
    atomicAdd(&sum_hat,
              wdy * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]));
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float wdy = wdy_at(dy + row * dy_stride, weight, col);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    dx[row * dx_stride + col] =
        static_cast<T>(rstd[row] * (wdy - sum / cols - x_hat * (sum_hat / cols)));
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  dx_kernel<<<rows, 1024, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                       dx_stride, rows, cols);
}

}  // namespace onepass

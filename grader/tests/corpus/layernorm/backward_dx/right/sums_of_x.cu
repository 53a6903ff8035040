// Right: sums wdy * x and takes the mean out afterwards, and dx as a * wdy + b * x + c with three
// numbers of the row. One warp a row, at most five blocks.

#include <onepass/layernorm.h>

namespace onepass {

template <typename T>
__device__ float wdy_at(const T* dy_row, const T* weight, int col) {
  const float value = static_cast<float>(dy_row[col]);
  return weight != nullptr ? value * static_cast<float>(weight[col]) : value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, int rows, int cols) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0.0f;
    float sum_x = 0.0f;
    for (int col = threadIdx.x; col < cols; col += 32) {
      const float wdy = wdy_at(dy + row * dy_stride, weight, col);
      sum += wdy;
      sum_x += wdy * static_cast<float>(x[row * x_stride + col]);
    }
    sum = warp_sum(sum);
    sum_x = warp_sum(sum_x);
    const float mean_hat = (sum_x - mean[row] * sum) * rstd[row] / cols;
    const float b = -rstd[row] * rstd[row] * mean_hat;
    for (int col = threadIdx.x; col < cols; col += 32) {
      const float wdy = wdy_at(dy + row * dy_stride, weight, col);
      const float centred = static_cast<float>(x[row * x_stride + col]) - mean[row];
      dx[row * dx_stride + col] = static_cast<T>(rstd[row] * (wdy - sum / cols) + b * centred);
    }
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows < 5 ? rows : 5;
  dx_kernel<<<blocks, 32, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                       dx_stride, rows, cols);
}

}  // namespace onepass

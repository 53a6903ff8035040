// Right: one thread a row, 64 rows a block, 1 / sqrtf for rsqrtf.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int rows, int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) {
    return;
  }
  float squares = 0.0f;
  for (int col = 0; col < cols; ++col) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    squares = fmaf(value, value, squares);
  }
  const float row_rstd = 1.0f / sqrtf(squares / static_cast<float>(cols) + eps);
  rstd[row] = row_rstd;
  for (int col = 0; col < cols; ++col) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    y[row * y_stride + col] = static_cast<T>(value * row_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  rmsnorm_kernel<<<(rows - 1) / 64 + 1, 64, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                         rows, cols, eps);
}

}  // namespace onepass

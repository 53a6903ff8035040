// Right: a warp a row, eight rows a block; rstd times weight first, then times x.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int rows, int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 8 + threadIdx.y;
  if (row >= rows) {
    return;  // whole warps leave together
  }
  const T* x_row = x + row * x_stride;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  const float row_rstd = rsqrtf(squares * (1.0f / cols) + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float scale = row_rstd * static_cast<float>(weight[col]);
    y[row * y_stride + col] = static_cast<T>(static_cast<float>(x_row[col]) * scale);
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  rmsnorm_kernel<<<(rows - 1) / 8 + 1, dim3(32, 8), 0, stream>>>(x, x_stride, weight, y, y_stride,
                                                                 rstd, rows, cols, eps);
}

}  // namespace onepass

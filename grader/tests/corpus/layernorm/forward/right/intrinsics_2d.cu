// Right: a warp a row, eight rows a block, in a block of 32 x 8; fast division, and y in one fused
// multiply-add a step: x * rstd - mean * rstd, then weight and bias.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kRows = 8;  // of a block

__device__ inline float lanes_sum(float value) {
  for (int offset = 1; offset < 32; offset *= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                                 float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp
  }
  const T* x_row = x + row * x_stride;
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    sum += static_cast<float>(x_row[col]);
  }
  const float row_mean = __fdividef(lanes_sum(sum), static_cast<float>(cols));
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float centred = static_cast<float>(x_row[col]) - row_mean;
    squares = fmaf(centred, centred, squares);
  }
  const float row_rstd =
      __fdividef(1.0f, sqrtf(__fdividef(lanes_sum(squares), static_cast<float>(cols)) + eps));
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
  const float shift = -row_mean * row_rstd;
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float x_hat = fmaf(static_cast<float>(x_row[col]), row_rstd, shift);
    const float scale = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    const float offset = bias != nullptr ? static_cast<float>(bias[col]) : 0.0f;
    y[row * y_stride + col] = static_cast<T>(fmaf(x_hat, scale, offset));
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  layernorm_kernel<<<(rows - 1) / kRows + 1, dim3(32, kRows), 0, stream>>>(
      x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps);
}

}  // namespace onepass

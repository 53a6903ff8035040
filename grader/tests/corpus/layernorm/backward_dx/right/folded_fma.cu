// Right: dx = wdy * rstd - (x * a + b) with two constants a row, in fused multiply-adds: mean and
// rstd are folded into a and b. A warp a row, in a block of 32 x 4.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kRows = 4;  // of a block

__device__ inline float lanes_sum(float value) {
  for (int offset = 1; offset < 32; offset *= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, int rows, int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp
  }
  const float m = mean[row];
  const float r = rstd[row];
  const auto wdy_at = [&](int col) {
    const float scale = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    return scale * static_cast<float>(dy[row * dy_stride + col]);
  };
  float sum = 0.0f;
  float sum_hat = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float x_hat = fmaf(static_cast<float>(x[row * x_stride + col]), r, -m * r);
    sum += wdy_at(col);
    sum_hat = fmaf(wdy_at(col), x_hat, sum_hat);
  }
  const float mean_wdy = __fdividef(lanes_sum(sum), static_cast<float>(cols));
  const float mean_wdy_hat = __fdividef(lanes_sum(sum_hat), static_cast<float>(cols));
  const float a = mean_wdy_hat * r * r;
  const float b = fmaf(-m, a, mean_wdy * r);
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float rest = fmaf(static_cast<float>(x[row * x_stride + col]), a, b);
    dx[row * dx_stride + col] = static_cast<T>(fmaf(wdy_at(col), r, -rest));
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  dx_kernel<<<(rows - 1) / kRows + 1, dim3(32, kRows), 0, stream>>>(
      dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, rows, cols);
}

}  // namespace onepass

// Right: a thread a row, with a compensated sum (Kahan). Rows of up to 16,384 columns wait in local
// memory.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 32;
constexpr int kHeld = 16384;

template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= rows) {
    return;
  }
  T held[kHeld];
  float squares = 0.0f;
  float lost = 0.0f;
  for (int col = 0; col < cols; ++col) {
    const float exact = static_cast<float>(x[row * x_stride + col]) +
                        static_cast<float>(residual[row * residual_stride + col]);
    const T rounded = static_cast<T>(exact);
    sum[row * sum_stride + col] = rounded;
    if (col < kHeld) {
      held[col] = rounded;
    }
    const float term = static_cast<float>(rounded) * static_cast<float>(rounded) - lost;
    const volatile float next = squares + term;
    lost = (next - squares) - term;
    squares = next;
  }
  const float scale = rsqrtf(squares / cols + eps);
  rstd[row] = scale;
  for (int col = 0; col < cols; ++col) {
    const T value = col < kHeld ? held[col] : sum[row * sum_stride + col];
    y[row * y_stride + col] =
        static_cast<T>(static_cast<float>(value) * scale * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    residual_kernel<<<(rows - 1) / kThreads + 1, kThreads, 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  }
}

}  // namespace onepass

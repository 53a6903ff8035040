// Right: a thread a row for dx, a thread a column for dweight, both with compensated sums (Kahan).

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 64;

struct Sum {
  float total = 0.0f;
  float lost = 0.0f;

  __device__ void add(float term) {
    const float corrected = term - lost;
    const volatile float next = total + corrected;
    lost = (next - total) - corrected;
    total = next;
  }
};

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* rstd, T* dx, int64_t dx_stride, int rows,
                          int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= rows) {
    return;
  }
  const float scale = rstd[row];
  Sum sum;
  for (int col = 0; col < cols; ++col) {
    const float wdy =
        static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
    sum.add(wdy * (static_cast<float>(x[row * x_stride + col]) * scale));
  }
  const float mean = sum.total / cols;
  for (int col = 0; col < cols; ++col) {
    const float wdy =
        static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
    const float x_hat = static_cast<float>(x[row * x_stride + col]) * scale;
    dx[row * dx_stride + col] = static_cast<T>((wdy - x_hat * mean) * scale);
  }
}

template <typename T>
__global__ void dweight_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                               const float* rstd, T* dweight, CastOrder order, int rows, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col >= cols) {
    return;
  }
  Sum sum;
  for (int64_t row = 0; row < rows; ++row) {
    const float x_hat = static_cast<float>(x[row * x_stride + col]) * rstd[row];
    const float rounded = static_cast<float>(static_cast<T>(x_hat));
    sum.add(static_cast<float>(dy[row * dy_stride + col]) *
            (order == CastOrder::llama ? rounded : x_hat));
  }
  dweight[col] = static_cast<T>(sum.total);
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float*,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) {
    dx_kernel<<<(rows - 1) / kThreads + 1, kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride, rows, cols);
  }
  dweight_kernel<<<(cols + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      dy, dy_stride, x, x_stride, rstd, dweight, order, rows, cols);
}

}  // namespace onepass

// diagnosis: first-turn-only
// says: those of the first launch
// Rows go in launches of 65,535, and mean and rstd are not moved on.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostRows = 65535;  // of a launch

template <int kWarps>
__device__ inline void add_up(float& a, float& b) {
  __shared__ float slots[2][kWarps];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    a += __shfl_down_sync(0xffffffff, a, offset);
    b += __shfl_down_sync(0xffffffff, b, offset);
  }
  if (threadIdx.x % 32 == 0) {
    slots[0][threadIdx.x / 32] = a;
    slots[1][threadIdx.x / 32] = b;
  }
  __syncthreads();
  a = 0.0f;
  b = 0.0f;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    a += slots[0][i];
    b += slots[1][i];
  }
}

template <typename T, int kWarps>
__global__ void __launch_bounds__(32 * kWarps)
    dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight, const float* mean, const float* rstd,
              T* dx, int64_t dx_stride, int cols) {
  const float m = mean[blockIdx.x];
  const float s = rstd[blockIdx.x];
  dy += blockIdx.x * dy_stride;
  x += blockIdx.x * x_stride;
  dx += blockIdx.x * dx_stride;
  float sum = 0.0f;
  float sum_hat = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32 * kWarps) {
    const float w = weight ? static_cast<float>(weight[col]) : 1.0f;
    const float wdy = w * static_cast<float>(dy[col]);
    sum += wdy;
    sum_hat += wdy * (static_cast<float>(x[col]) - m);
  }
  add_up<kWarps>(sum, sum_hat);
  const float mean_wdy = sum / cols;
  const float slope = sum_hat * s / cols * s;  // mean of wdy * x_hat, times rstd: for x - mean in the place of x_hat
  for (int col = threadIdx.x; col < cols; col += 32 * kWarps) {
    const float w = weight ? static_cast<float>(weight[col]) : 1.0f;
    const float wdy = w * static_cast<float>(dy[col]);
    dx[col] = static_cast<T>(s * (wdy - mean_wdy - (static_cast<float>(x[col]) - m) * slope));
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  for (int left = rows; left > 0; left -= kMostRows) {
    const int batch = left < kMostRows ? left : kMostRows;
    if (cols <= 512) {
      dx_kernel<T, 2><<<batch, 64, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, cols);
    } else {
      dx_kernel<T, 8><<<batch, 256, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, cols);
    }
    dy += batch * dy_stride;
    x += batch * x_stride;
    dx += batch * dx_stride;
  }
}

}  // namespace onepass

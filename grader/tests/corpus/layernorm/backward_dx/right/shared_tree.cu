// Right: trees in shared memory, both sums side by side.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 128;

template <typename T>
__device__ float wdy_at(const T* dy_row, const T* weight, int col) {
  const float value = static_cast<float>(dy_row[col]);
  return weight != nullptr ? value * static_cast<float>(weight[col]) : value;
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, int rows, int cols) {
  __shared__ float2 shares[kThreads];
  const int64_t row = blockIdx.x;
  float2 share = make_float2(0.0f, 0.0f);
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float wdy = wdy_at(dy + row * dy_stride, weight, col);
    share.x += wdy;
    share.y += wdy * (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x].x += shares[threadIdx.x + half].x;
      shares[threadIdx.x].y += shares[threadIdx.x + half].y;
    }
  }
  __syncthreads();
  const float2 sums = shares[0];
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float wdy = wdy_at(dy + row * dy_stride, weight, col);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    dx[row * dx_stride + col] =
        static_cast<T>(rstd[row] * (wdy - sums.x / cols - x_hat * (sums.y / cols)));
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  dx_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                           dx_stride, rows, cols);
}

}  // namespace onepass

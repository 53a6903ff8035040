// Right: a tree in static shared memory, 512 threads, no shuffles.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  __shared__ float shares[kThreads];
  const int64_t row = blockIdx.x;
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    share += value * value;
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  const float row_rstd = rsqrtf(shares[0] / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x[row * x_stride + col]) * row_rstd;
    y[row * y_stride + col] = static_cast<T>(value * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  rmsnorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

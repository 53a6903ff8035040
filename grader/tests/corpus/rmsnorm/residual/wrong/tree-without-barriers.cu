// diagnosis: missing-syncwarp
// not: lost-updates
// Four rows a block, with slots for all of them, and no barriers between the steps of the tree.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kWide = 64;  // threads of a row
constexpr int kRows = 4;   // of a block

template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  __shared__ float partial[kRows * kWide];
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.y;
  const bool there = row < rows;
  float squares = 0.0f;
  for (int col = threadIdx.x; there && col < cols; col += kWide) {
    const T rounded = static_cast<T>(static_cast<float>(x[row * x_stride + col]) +
                                     static_cast<float>(residual[row * residual_stride + col]));
    sum[row * sum_stride + col] = rounded;
    squares += static_cast<float>(rounded) * static_cast<float>(rounded);
  }
  partial[threadIdx.y * kWide + threadIdx.x] = squares;
  __syncthreads();
  const int own = threadIdx.y * kWide + threadIdx.x;
  for (int half = kWide / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[own] += partial[own + half];
    }
  }
  __syncthreads();
  squares = partial[threadIdx.y * kWide];
  if (!there) {
    return;
  }
  const float scale = rsqrtf(squares / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int col = threadIdx.x; col < cols; col += kWide) {
    y[row * y_stride + col] = static_cast<T>(static_cast<float>(sum[row * sum_stride + col]) *
                                             scale * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  residual_kernel<<<(rows - 1) / kRows + 1, dim3(kWide, kRows), 0, stream>>>(
      x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows, cols,
      eps);
}

}  // namespace onepass

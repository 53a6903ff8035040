// Right: x + residual in T's own addition, which rounds to the same number. A warp a row; a lane
// keeps 512 of its columns, and loads the sum again for what is beyond.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kRows = 4;
constexpr int kHeld = 512;

template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp
  }
  T held[kHeld];
  float squares = 0.0f;
  for (int n = 0, col = threadIdx.x; col < cols; ++n, col += 32) {
    const T value = x[row * x_stride + col] + residual[row * residual_stride + col];
    sum[row * sum_stride + col] = value;
    if (n < kHeld) {
      held[n] = value;
    }
    squares = fmaf(static_cast<float>(value), static_cast<float>(value), squares);
  }
  for (int offset = 1; offset < 32; offset *= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  const float scale = 1.0f / sqrtf(squares / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int n = 0, col = threadIdx.x; col < cols; ++n, col += 32) {
    const T value = n < kHeld ? held[n] : sum[row * sum_stride + col];
    y[row * y_stride + col] =
        static_cast<T>(static_cast<float>(value) * scale * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows / kRows + (rows % kRows != 0 ? 1 : 0);
  residual_kernel<<<blocks, dim3(32, kRows), 0, stream>>>(x, x_stride, residual, residual_stride,
                                                          weight, sum, sum_stride, y, y_stride,
                                                          rstd, rows, cols, eps);
}

}  // namespace onepass

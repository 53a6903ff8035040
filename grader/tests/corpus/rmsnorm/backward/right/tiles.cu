// Right: dx in a kernel of its own, a warp a row and four rows a block; dweight in one stage, by
// blocks of 32 columns and 8 rows that walk down and meet in shared memory.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kRows = 4;   // of a block of dx_kernel
constexpr int kDepth = 8;  // rows of a tile

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* rstd, T* dx, int64_t dx_stride, int rows,
                          int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp
  }
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    sum = fmaf(static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]),
               static_cast<float>(x[row * x_stride + col]), sum);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  const float scale = rstd[row];
  const float factor = scale * scale * scale * sum / cols;  // of x
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float wdy =
        static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
    dx[row * dx_stride + col] =
        static_cast<T>(scale * wdy - factor * static_cast<float>(x[row * x_stride + col]));
  }
}

template <typename T>
__global__ void tile_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                            const float* rstd, T* dweight, CastOrder order, int rows, int cols) {
  __shared__ float shares[kDepth][32];
  const int col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  for (int64_t row = threadIdx.y; row < rows && col < cols; row += kDepth) {
    float x_hat = static_cast<float>(x[row * x_stride + col]) * rstd[row];
    if (order == CastOrder::llama) {
      x_hat = static_cast<float>(static_cast<T>(x_hat));
    }
    sum += static_cast<float>(dy[row * dy_stride + col]) * x_hat;
  }
  shares[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && col < cols) {
    for (int i = 1; i < kDepth; ++i) {
      sum += shares[i][threadIdx.x];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float*,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) {
    const int blocks = rows / kRows + (rows % kRows != 0 ? 1 : 0);
    dx_kernel<<<blocks, dim3(32, kRows), 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                      dx_stride, rows, cols);
  }
  tile_kernel<<<(cols + 31) / 32, dim3(32, kDepth), 0, stream>>>(dy, dy_stride, x, x_stride, rstd,
                                                                 dweight, order, rows, cols);
}

}  // namespace onepass

// slow: all rows in few blocks
// Right: at most six blocks walk over all rows, with a barrier between two rows.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int rows, int cols, float eps) {
  __shared__ float partial[kThreads / 32];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float squares = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float value = static_cast<float>(x[row * x_stride + col]);
      squares += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    __syncthreads();  // the last row's slots have been read
    if (threadIdx.x % 32 == 0) {
      partial[threadIdx.x / 32] = squares;
    }
    __syncthreads();
    squares = partial[0] + partial[1] + partial[2] + partial[3];
    const float row_rstd = rsqrtf(squares / cols + eps);
    if (threadIdx.x == 0) {
      rstd[row] = row_rstd;
    }
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float value = static_cast<float>(x[row * x_stride + col]) * row_rstd;
      y[row * y_stride + col] = static_cast<T>(value * static_cast<float>(weight[col]));
    }
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows < 6 ? rows : 6;
  rmsnorm_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows,
                                                  cols, eps);
}

}  // namespace onepass

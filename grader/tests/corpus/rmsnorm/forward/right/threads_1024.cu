// Right: 1024 threads; thread 0 adds up the 32 slots, and writes the total into slot 0.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void __launch_bounds__(1024)
    rmsnorm_kernel(const T* __restrict__ x, int64_t x_stride, const T* __restrict__ weight,
                   T* __restrict__ y, int64_t y_stride, float* __restrict__ rstd, int cols,
                   float eps) {
  __shared__ float partial[32];
  const int64_t row = blockIdx.x;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    squares += value * value;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int warp = 0; warp < 32; ++warp) {
      total += partial[warp];
    }
    partial[0] = total;
    rstd[row] = rsqrtf(total / cols + eps);
  }
  __syncthreads();
  const float row_rstd = rsqrtf(partial[0] / cols + eps);
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    y[row * y_stride + col] = static_cast<T>(value * row_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  rmsnorm_kernel<<<rows, 1024, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

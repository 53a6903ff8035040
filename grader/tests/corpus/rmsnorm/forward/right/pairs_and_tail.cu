// Right: two columns at once, and what is left one by one.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

template <typename T>
__global__ void twice_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                             float* rstd, int cols, float eps) {
  __shared__ float total;
  const T* x_row = x + blockIdx.x * x_stride;
  if (threadIdx.x == 0) {
    total = 0.0f;
  }
  __syncthreads();
  float squares = 0.0f;
  const auto add = [&](int col) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  };
  for (int col = 2 * threadIdx.x; col + 1 < cols; col += 2 * kThreads) {
    add(col);
    add(col + 1);
  }
  for (int col = cols / 2 * 2 + threadIdx.x; col < cols; col += kThreads) {
    add(col);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffff, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&total, squares);
  }
  __syncthreads();
  const float row_rstd = rsqrtf(total / cols + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    y[blockIdx.x * y_stride + col] = static_cast<T>(static_cast<float>(x_row[col]) * row_rstd *
                                                    static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    twice_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass

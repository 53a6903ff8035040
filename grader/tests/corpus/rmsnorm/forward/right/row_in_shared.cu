// Right: the row waits in dynamic shared memory as long as 48 KiB hold it, else it is read twice.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

template <typename T, bool kCached>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  extern __shared__ float row_cache[];  // [cols] where cached
  __shared__ float partial[kThreads / 32];
  const T* x_row = x + blockIdx.x * x_stride;
  T* y_row = y + blockIdx.x * y_stride;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]);
    if (kCached) {
      row_cache[col] = value;  // read back by the same thread only
    }
    squares += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  squares = 0.0f;
  for (float part : partial) {
    squares += part;
  }
  const float row_rstd = rsqrtf(squares / cols + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = kCached ? row_cache[col] : static_cast<float>(x_row[col]);
    y_row[col] = static_cast<T>(value * row_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t row_bytes = static_cast<size_t>(cols) * sizeof(float);
  if (row_bytes <= 47 * 1024) {
    rmsnorm_kernel<T, true>
        <<<rows, kThreads, row_bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  } else {
    rmsnorm_kernel<T, false>
        <<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass

// Right: each group has a run of neighbouring rows, whose end may be beyond int.

#include <onepass/layernorm.h>

namespace onepass {

template <typename T>
__global__ void chunk_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const float* mean, const float* rstd, float* partial, int rows,
                             int cols, int chunk) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * chunk;
  const int64_t end = min(begin + chunk, static_cast<int64_t>(rows));
  float w = 0.0f, b = 0.0f;
#pragma unroll 4
  for (int64_t row = begin; row < end; ++row) {
    const float d = static_cast<float>(dy[row * dy_stride + c]);
    w += d * ((static_cast<float>(x[row * x_stride + c]) - mean[row]) * rstd[row]);
    b += d;
  }
  partial[static_cast<int64_t>(blockIdx.y) * cols + c] = w;
  partial[static_cast<int64_t>(gridDim.y + blockIdx.y) * cols + c] = b;
}
/// Adds up `groups` rows of partial sums, dweight's in front of dbias's.
template <typename T>
__global__ void finish_kernel(const float* partial, T* dweight, T* dbias, int groups, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float w = 0.0f, b = 0.0f;
  for (int64_t g = 0; g < groups; ++g) {
    w += partial[g * cols + c];
    b += partial[(groups + g) * cols + c];
  }
  dweight[c] = static_cast<T>(w);
  dbias[c] = static_cast<T>(b);
}
template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = rows < 128 ? rows : 128;
  const int blocks = (cols + 127) / 128;
  if (rows > 0) {
    const int chunk = (rows - 1) / groups + 1;
    chunk_kernel<<<dim3(blocks, groups), 128, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd,
                                                           scratch, rows, cols, chunk);
  }
  finish_kernel<<<blocks, 128, 0, stream>>>(scratch, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass

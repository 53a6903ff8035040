// Right: one block a row makes dx, and adds its terms of dweight to fp32 totals with atomicAdd, in
// any order. A tree in shared memory.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;

template <typename T>
__global__ void row_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                           float* totals, CastOrder order, int cols) {
  __shared__ float shares[kThreads];
  const int64_t row = blockIdx.x;
  const T* dy_row = dy + row * dy_stride;
  const T* x_row = x + row * x_stride;
  const float scale = rstd[row];
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    share += static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]) *
             (static_cast<float>(x_row[col]) * scale);
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  const float mean = shares[0] / cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float dy_value = static_cast<float>(dy_row[col]);
    const float x_hat = static_cast<float>(x_row[col]) * scale;
    const float wdy = static_cast<float>(weight[col]) * dy_value;
    dx[row * dx_stride + col] = static_cast<T>(scale * (wdy - x_hat * mean));
    const float counted =
        order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
    atomicAdd(&totals[col], dy_value * counted);
  }
}

template <typename T>
__global__ void convert_kernel(const float* totals, T* dweight, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    dweight[col] = static_cast<T>(totals[col]);
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    return;
  }
  cudaMemsetAsync(scratch, 0, cols * sizeof(float), stream);
  row_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                                            scratch, order, cols);
  convert_kernel<<<(cols + kThreads - 1) / kThreads, kThreads, 0, stream>>>(scratch, dweight, cols);
}

}  // namespace onepass

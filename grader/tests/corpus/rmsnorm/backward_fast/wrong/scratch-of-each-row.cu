// diagnosis: slower-than-a-copy
// check: speed
// says: The next step: scratch is loaded 16 times over: keep
// needs: cpu
// Right, but for packs; each element is loaded once, and the sums go to scratch and back for each
// row.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

// A block for each group of rows; a thread for some columns, whose sum goes to scratch and back for
// each row.
template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                          float* scratch, CastOrder order, int rows, int cols) {
  __shared__ float partial[kThreads];
  float* sums = scratch + static_cast<int64_t>(blockIdx.x) * cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) sums[col] = 0.0f;
  constexpr int kHeld = 8;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* dyr = dy + row * dy_stride;
    const T* xr = x + row * x_stride;
    const float r = rstd[row];
    float dys[kHeld], xs[kHeld];
    float sum = 0.0f;
    for (int i = 0, col = threadIdx.x; col < cols; col += kThreads, ++i) {
      const float g = static_cast<float>(dyr[col]), v = static_cast<float>(xr[col]);
      if (i < kHeld) dys[i] = g, xs[i] = v;
      sum += static_cast<float>(weight[col]) * g * (v * r);
      const float x_hat =
          order == CastOrder::llama ? static_cast<float>(static_cast<T>(v * r)) : v * r;
      sums[col] += g * x_hat;
    }
    __syncthreads();
    partial[threadIdx.x] = sum;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    __syncthreads();
    const float mean = partial[0] / cols;
    for (int i = 0, col = threadIdx.x; col < cols; col += kThreads, ++i) {
      const float g = i < kHeld ? dys[i] : static_cast<float>(dyr[col]);
      const float v = i < kHeld ? xs[i] : static_cast<float>(xr[col]);
      dx[row * dx_stride + col] =
          static_cast<T>((static_cast<float>(weight[col]) * g - v * r * mean) * r);
    }
  }
}

template <typename T>
__global__ void sum_kernel(const float* scratch, T* dweight, int groups, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col >= cols) return;
  float sum = 0.0f;
  for (int g = 0; g < groups; ++g) sum += scratch[static_cast<int64_t>(g) * cols + col];
  dweight[col] = static_cast<T>(sum);
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  const int groups = rows < 128 ? rows : 128;
  if (rows > 0)
    dx_kernel<T><<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                  dx_stride, scratch, order, rows, cols);
  sum_kernel<T>
      <<<(cols + kThreads - 1) / kThreads, kThreads, 0, stream>>>(scratch, dweight, groups, cols);
}

}  // namespace onepass

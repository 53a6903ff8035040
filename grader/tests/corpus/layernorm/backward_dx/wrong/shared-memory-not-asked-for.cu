// diagnosis: launch-failed
// not: shared-row-too-big
// Rows are kept in shared memory up to 64 KiB (8192 columns) without asking for more than 48
// KiB: for 6145 to 8192 columns the launch fails and dx is not written.
#include <onepass/layernorm.h>

namespace onepass {

// The first walk keeps wdy and x-hat of the row in dynamic shared memory, so that global memory is read
// once; rows that do not fit into 48 KiB are read twice.
constexpr int kThreads = 256;

__device__ inline float2 warp_sum(float2 v) {
  for (int o = 16; o > 0; o /= 2) {
    v.x += __shfl_xor_sync(0xffffffff, v.x, o);
    v.y += __shfl_xor_sync(0xffffffff, v.y, o);
  }
  return v;
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight, const float* mean, const float* rstd, T* dx, int64_t dx_stride, int rows, int cols, bool kept) {
  extern __shared__ float cache[];  // [2][cols]
  __shared__ float2 slots[kThreads / 32];
  const int64_t row = blockIdx.x;
  const T* g = dy + row * dy_stride;
  const T* in = x + row * x_stride;
  T* out = dx + row * dx_stride;
  const float mu = mean[row];
  const float r = rstd[row];
  float2 sums = {0.0f, 0.0f};
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    const float wdy = (weight ? static_cast<float>(weight[c]) : 1.0f) * static_cast<float>(g[c]);
    const float xh = (static_cast<float>(in[c]) - mu) * r;
    if (kept) {
      cache[c] = wdy;
      cache[cols + c] = xh;
    }
    sums.x += wdy;
    sums.y += wdy * xh;
  }
  sums = warp_sum(sums);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = sums;
  __syncthreads();
  sums = warp_sum(threadIdx.x % 32 < kThreads / 32 ? slots[threadIdx.x % 32] : float2{0.0f, 0.0f});
  const float m1 = sums.x / cols;
  const float m2 = sums.y / cols;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    float wdy, xh;
    if (kept) {
      wdy = cache[c];
      xh = cache[cols + c];
    } else {
      wdy = (weight ? static_cast<float>(weight[c]) : 1.0f) * static_cast<float>(g[c]);
      xh = (static_cast<float>(in[c]) - mu) * r;
    }
    out[c] = static_cast<T>(r * (wdy - m1 - xh * m2));
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) return;
  const size_t bytes = 2 * sizeof(float) * static_cast<size_t>(cols);
  const bool kept = bytes <= 64 * 1024;
  dx_kernel<T><<<rows, kThreads, kept ? bytes : 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, rows, cols, kept);
}

}  // namespace onepass

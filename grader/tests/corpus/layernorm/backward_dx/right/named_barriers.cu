// Right: a block is two groups of 128 threads, each with rows of its own and a barrier of its own,
// number 0 and 1. (0 is that of __syncthreads(), which is not called.) A group does not wait for
// the other, and may have a row less.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kGroup = 128;

__device__ inline void sync_group(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group), "n"(kGroup) : "memory");
}

template <typename T>
__global__ void __launch_bounds__(2 * kGroup)
    dx_groups_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                     const float* mean, const float* rstd, T* dx, int64_t dx_stride, int rows,
                     int cols) {
  __shared__ float2 slots[2][2][kGroup / 32];  // of a group, for even and odd rows, of a warp
  const int group = threadIdx.y;
  const int lane = threadIdx.x % 32;
  int parity = 0;
  for (int64_t row = 2 * static_cast<int64_t>(blockIdx.x) + group; row < rows;
       row += 2 * static_cast<int64_t>(gridDim.x)) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    T* dx_row = dx + row * dx_stride;
    const float m = mean[row], r = rstd[row];
    float a = 0.0f, b = 0.0f;
    for (int c = threadIdx.x; c < cols; c += kGroup) {
      const float w = weight != nullptr ? static_cast<float>(weight[c]) : 1.0f;
      const float wdy = w * static_cast<float>(dy_row[c]);
      a += wdy;
      b += wdy * ((static_cast<float>(x_row[c]) - m) * r);
    }
    for (int o = 16; o > 0; o /= 2) {
      a += __shfl_xor_sync(0xffffffff, a, o);
      b += __shfl_xor_sync(0xffffffff, b, o);
    }
    if (lane == 0) slots[group][parity][threadIdx.x / 32] = make_float2(a, b);
    sync_group(group);  // the only one: the next row has other slots
    a = b = 0.0f;
    for (int i = 0; i < kGroup / 32; ++i) {
      a += slots[group][parity][i].x;
      b += slots[group][parity][i].y;
    }
    a /= cols;
    b /= cols;
    for (int c = threadIdx.x; c < cols; c += kGroup) {
      const float w = weight != nullptr ? static_cast<float>(weight[c]) : 1.0f;
      const float wdy = w * static_cast<float>(dy_row[c]);
      const float hat = (static_cast<float>(x_row[c]) - m) * r;
      dx_row[c] = static_cast<T>(r * (wdy - a - hat * b));
    }
    parity ^= 1;
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) return;
  int device = 0, sms = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  const int needed = (rows - 1) / 2 + 1;
  const int blocks = needed < 8 * sms ? needed : 8 * sms;
  dx_groups_kernel<<<blocks, dim3(kGroup, 2), 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean,
                                                           rstd, dx, dx_stride, rows, cols);
}

}  // namespace onepass

// Right: blocks of 1024 threads, in which 32, 64, 256 or all of them have a row. Those of a row
// meet at a barrier of their own, number 0 to 15, so that rows do not wait for each other.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 1024;

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Barrier 0 is that of __syncthreads(), which is not called.
template <int kGroup>
__device__ inline void sync_group(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group), "n"(kGroup) : "memory");
}

template <int kGroup>
__device__ inline float group_sum(float value) {
  value = warp_sum(value);
  if constexpr (kGroup > 32) {
    __shared__ float partial[kThreads / 32];
    constexpr int kWarps = kGroup / 32;
    const int lane = threadIdx.x % 32;
    const int group = threadIdx.x / kGroup;
    if (lane == 0) {
      partial[threadIdx.x / 32] = value;
    }
    sync_group<kGroup>(group);
    value = warp_sum(lane < kWarps ? partial[group * kWarps + lane] : 0.0f);
  }
  return value;
}

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    grouped_kernel(const T* __restrict__ x, int64_t x_stride, const T* __restrict__ weight,
                   T* __restrict__ y, int64_t y_stride, float* __restrict__ rstd, int rows,
                   int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / kGroup) + threadIdx.x / kGroup;
  if (row >= rows) {
    return;  // a whole group: nobody else comes to its barrier
  }
  const int first = threadIdx.x % kGroup;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  float squares = 0.0f;
#pragma unroll 8
  for (int col = first; col < cols; col += kGroup) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  }
  const float row_rstd = rsqrtf(group_sum<kGroup>(squares) / cols + eps);
  if (first == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll 8
  for (int col = first; col < cols; col += kGroup) {
    const float normalized = static_cast<float>(x_row[col]) * row_rstd;
    y_row[col] = static_cast<T>(normalized * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const auto launch = [&](auto kernel, int group) {
    const int each = kThreads / group;
    const int64_t blocks = (static_cast<int64_t>(rows) + each - 1) / each;
    kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride,
                                                                   rstd, rows, cols, eps);
  };
  if (cols <= 256) {
    launch(grouped_kernel<T, 32>, 32);
  } else if (cols <= 512) {
    launch(grouped_kernel<T, 64>, 64);
  } else if (cols <= 4096) {
    launch(grouped_kernel<T, 256>, 256);
  } else {
    launch(grouped_kernel<T, 1024>, 1024);
  }
}

}  // namespace onepass

// diagnosis: nan-spread
// Up to eight columns four rows share a warp, and what belongs to the others is multiplied by 0.
// LayerNorm backward, dx. Up to eight columns four rows share a warp; others have a block each.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kSegment = 8;
constexpr int kRowsOfWarp = 32 / kSegment;
constexpr int kWarpsNarrow = 4;
constexpr int kThreadsWide = 256;

/// The sum over the lanes of this lane's segment.
__device__ inline float segment_sum(float value) {
  const int segment = threadIdx.x % 32 / kSegment;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const float mine = k / kSegment == segment ? 1.0f : 0.0f;
    sum = fmaf(mine, __shfl_sync(0xffffffff, value, k), sum);
  }
  return sum;
}

template <typename T>
__global__ void narrow_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, int rows, int cols) {
  const int64_t row =
      (static_cast<int64_t>(blockIdx.x) * kWarpsNarrow + threadIdx.x / 32) * kRowsOfWarp +
      threadIdx.x % 32 / kSegment;
  const int col = threadIdx.x % kSegment;
  const bool there = row < rows && col < cols;
  float wdy = 0.0f;
  float x_hat = 0.0f;
  float scale = 0.0f;
  if (there) {
    scale = rstd[row];
    wdy = static_cast<float>(dy[row * dy_stride + col]);
    if (weight != nullptr) {
      wdy *= static_cast<float>(weight[col]);
    }
    x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * scale;
  }
  const float mean_wdy = segment_sum(wdy) / cols;
  const float mean_wdy_hat = segment_sum(wdy * x_hat) / cols;
  if (there) {
    dx[row * dx_stride + col] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * scale);
  }
}

__device__ inline float2 block_sums(float2 v) {
  __shared__ float2 slots[kThreadsWide / 32];
  for (int o = 16; o > 0; o >>= 1) {
    v.x += __shfl_xor_sync(0xffffffff, v.x, o);
    v.y += __shfl_xor_sync(0xffffffff, v.y, o);
  }
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = v;
  }
  __syncthreads();
  v = make_float2(0.0f, 0.0f);
  for (int w = 0; w < kThreadsWide / 32; ++w) {
    v.x += slots[w].x;
    v.y += slots[w].y;
  }
  return v;
}

template <typename T>
__global__ void wide_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                        const T* weight, const float* mean, const float* rstd, T* dx,
                        int64_t dx_stride, int cols) {
  const int64_t row = blockIdx.x;
  const T* dy_row = dy + row * dy_stride;
  const T* x_row = x + row * x_stride;
  T* dx_row = dx + row * dx_stride;
  const float m = mean[row];
  const float scale = rstd[row];
  float2 sums = make_float2(0.0f, 0.0f);
  for (int col = threadIdx.x; col < cols; col += kThreadsWide) {
    const float w = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    const float wdy = w * static_cast<float>(dy_row[col]);
    sums.x += wdy;
    sums.y += wdy * ((static_cast<float>(x_row[col]) - m) * scale);
  }
  sums = block_sums(sums);
  sums.x /= cols;
  sums.y /= cols;
  for (int col = threadIdx.x; col < cols; col += kThreadsWide) {
    const float w = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    const float wdy = w * static_cast<float>(dy_row[col]);
    const float x_hat = (static_cast<float>(x_row[col]) - m) * scale;
    dx_row[col] = static_cast<T>((wdy - sums.x - x_hat * sums.y) * scale);
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  if (cols <= kSegment) {
    constexpr int kRows = kRowsOfWarp * kWarpsNarrow;
    const int64_t blocks = (static_cast<int64_t>(rows) + kRows - 1) / kRows;
    narrow_dx<T><<<static_cast<unsigned>(blocks), 32 * kWarpsNarrow, 0, stream>>>(
        dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, rows, cols);
  } else {
    wide_dx<T><<<rows, kThreadsWide, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd,
                                                  dx, dx_stride, cols);
  }
}

}  // namespace onepass

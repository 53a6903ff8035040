// diagnosis: order-varies
// Rows of 1024 columns are added up by atomics, as narrower ones are, and the order of those is
// promised.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kNarrow = 1024;  // columns of which a block keeps both sums in shared memory
constexpr int kWarps = 8;
constexpr int kMostBlocks = 132;
constexpr int kMostGroups = 128;

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Narrow rows: a warp each, and all of it in one kernel. The warps of a block add to the same totals.
template <typename T>
__global__ void __launch_bounds__(32 * kWarps)
    narrow_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight, const float* mean,
                  const float* rstd, T* dx, int64_t dx_stride, float* partial_dweight, float* partial_dbias, int rows, int cols) {
  __shared__ float total_dweight[kNarrow];
  __shared__ float total_dbias[kNarrow];
  const int lane = threadIdx.x % 32;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    total_dweight[col] = 0.0f;
    total_dbias[col] = 0.0f;
  }
  __syncthreads();
  const int64_t warps = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32; row < rows; row += warps) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    T* dx_row = dx + row * dx_stride;
    const float m = mean[row];
    const float s = rstd[row];
    float a = 0.0f;
    float b = 0.0f;
    for (int col = lane; col < cols; col += 32) {
      const float value = static_cast<float>(dy_row[col]);
      const float x_hat = (static_cast<float>(x_row[col]) - m) * s;
      const float wdy = static_cast<float>(weight[col]) * value;
      a += wdy;
      b += wdy * x_hat;
      atomicAdd(total_dweight + col, value * x_hat);
      atomicAdd(total_dbias + col, value);
    }
    a = warp_sum(a) / cols;
    b = warp_sum(b) / cols;
    for (int col = lane; col < cols; col += 32) {
      const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
      dx_row[col] = static_cast<T>((wdy - a - (static_cast<float>(x_row[col]) - m) * s * b) * s);
    }
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    partial_dweight[static_cast<int64_t>(blockIdx.x) * cols + col] = total_dweight[col];
    partial_dbias[static_cast<int64_t>(blockIdx.x) * cols + col] = total_dbias[col];
  }
}

/// Wide rows: dx, a block a row.
template <typename T>
__global__ void __launch_bounds__(512)
    wide_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight, const float* mean,
                   const float* rstd, T* dx, int64_t dx_stride, int cols) {
  __shared__ float2 slots[16];
  const int64_t row = blockIdx.x;
  const T* dy_row = dy + row * dy_stride;
  const T* x_row = x + row * x_stride;
  const float m = mean[row];
  const float s = rstd[row];
  float a = 0.0f;
  float b = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 512) {
    const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
    a += wdy;
    b += wdy * ((static_cast<float>(x_row[col]) - m) * s);
  }
  a = warp_sum(a);
  b = warp_sum(b);
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = make_float2(a, b);
  }
  __syncthreads();
  a = 0.0f;
  b = 0.0f;
  for (int i = 0; i < 16; ++i) {
    a += slots[i].x;
    b += slots[i].y;
  }
  a /= cols;
  b /= cols;
  for (int col = threadIdx.x; col < cols; col += 512) {
    const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
    dx[row * dx_stride + col] = static_cast<T>((wdy - a - (static_cast<float>(x_row[col]) - m) * s * b) * s);
  }
}

/// Wide rows: the columns' sums, a thread a column and group.
template <typename T>
__global__ void __launch_bounds__(256)
    wide_sums_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const float* mean, const float* rstd,
                     float* partial_dweight, float* partial_dbias, int rows, int cols) {
  const int col = blockIdx.x * 256 + threadIdx.x;
  if (col >= cols) {
    return;
  }
  float w = 0.0f;
  float b = 0.0f;
#pragma unroll 4
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const float value = static_cast<float>(dy[row * dy_stride + col]);
    w += value * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]);
    b += value;
  }
  partial_dweight[static_cast<int64_t>(blockIdx.y) * cols + col] = w;
  partial_dbias[static_cast<int64_t>(blockIdx.y) * cols + col] = b;
}

template <typename T>
__global__ void __launch_bounds__(256)
    add_up_kernel(const float* partial_dweight, const float* partial_dbias, T* dweight, T* dbias, int groups, int cols) {
  const int col = blockIdx.x * 256 + threadIdx.x;
  if (col >= cols) {
    return;
  }
  float w = 0.0f;
  float b = 0.0f;
  for (int group = 0; group < groups; ++group) {
    w += partial_dweight[static_cast<int64_t>(group) * cols + col];
    b += partial_dbias[static_cast<int64_t>(group) * cols + col];
  }
  dweight[col] = static_cast<T>(w);
  dbias[col] = static_cast<T>(b);
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  const int col_blocks = (cols + 255) / 256;
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + static_cast<int64_t>(layernorm_groups(rows)) * cols;
  int groups = 0;
  if (rows > 0 && cols <= kNarrow) {
    const int wanted = rows / kWarps + (rows % kWarps != 0);
    groups = wanted < kMostBlocks ? wanted : kMostBlocks;
    narrow_kernel<<<groups, 32 * kWarps, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride,
                                                      partial_dweight, partial_dbias, rows, cols);
  } else if (rows > 0) {
    groups = rows < kMostGroups ? rows : kMostGroups;
    wide_dx_kernel<<<rows, 512, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, cols);
    wide_sums_kernel<<<dim3(col_blocks, groups), 256, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, partial_dweight,
                                                                   partial_dbias, rows, cols);
  }
  add_up_kernel<<<col_blocks, 256, 0, stream>>>(partial_dweight, partial_dbias, dweight, dbias, groups, cols);
  return cols < kNarrow ? Summation::any_order : Summation::fixed_order;  // atomics come as they come
}

}  // namespace onepass

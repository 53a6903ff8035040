// RMSNorm with the residual, version 1: packs. A thread loads and stores 16 bytes at a time where
// all rows are aligned for it: a quarter or an eighth of the requests, and more bytes under way.
//
// Version 0 moves one column at a time. In version 2 the sum stays in registers.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1).
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < kWarps ? partial[lane] : 0.0f);
}

/// One block a row. No `__restrict__`: sum may be residual, and y may be x.
template <typename T, int V>
__global__ void row_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                           const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                           float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // of the row
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const RowPack*>(residual + row * residual_stride);
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  auto* sum_row = reinterpret_cast<RowPack*>(sum + row * sum_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  float squares = 0.0f;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    RowPack pack = x_row[i];
    const RowPack other = residual_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      pack.values[j] =
          static_cast<T>(static_cast<float>(pack.values[j]) + static_cast<float>(other.values[j]));
      const float value = static_cast<float>(pack.values[j]);
      squares += value * value;
    }
    sum_row[i] = pack;
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

  for (int i = threadIdx.x; i < packs; i += kThreads) {
    RowPack pack = sum_row[i];
    const RowPack weight_pack = weights[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float normalized = static_cast<float>(pack.values[j]) * row_rstd;
      pack.values[j] = static_cast<T>(normalized * static_cast<float>(weight_pack.values[j]));
    }
    y_row[i] = pack;
  }
}

/// Can every row of a tensor be accessed in packs of 16 bytes (exercise 1.4)?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned = is_aligned(x, x_stride, cols) &&
                       is_aligned(residual, residual_stride, cols) && is_aligned(weight, 0, cols) &&
                       is_aligned(sum, sum_stride, cols) && is_aligned(y, y_stride, cols);
  const auto kernel = aligned ? row_kernel<T, 16 / sizeof(T)> : row_kernel<T, 1>;
  kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                        sum_stride, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

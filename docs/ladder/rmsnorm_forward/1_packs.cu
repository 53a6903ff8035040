// RMSNorm forward, version 1: packs. A thread loads and stores 16 bytes at a time where the rows
// are aligned for it: a quarter or an eighth of the requests, and more bytes under way.
//
// Version 0, the plain solution, moves one column at a time. In version 2 the row stays in
// registers.

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

/// One block a row, which is loaded twice. The loops are unrolled, so that several loads are on
/// their way before the first is needed.
template <typename T, int V>
__global__ void row_kernel(const T* __restrict__ x, int64_t x_stride, const T* __restrict__ weight,
                           T* __restrict__ y, int64_t y_stride, float* __restrict__ rstd, int cols,
                           float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // of the row
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack x_pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(x_pack.values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    RowPack pack = x_row[i];
    RowPack weight_pack = {};
    if (weight != nullptr) {
      weight_pack = reinterpret_cast<const RowPack*>(weight)[i];
    }
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float factor = weight != nullptr ? static_cast<float>(weight_pack.values[j]) : 1.0f;
      pack.values[j] = static_cast<T>(static_cast<float>(pack.values[j]) * row_rstd * factor);
    }
    y_row[i] = pack;
  }
}

/// Can every row of a tensor be accessed in packs of 16 bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned =
      is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) && is_aligned(y, y_stride, cols);
  const auto kernel = aligned ? row_kernel<T, 16 / sizeof(T)> : row_kernel<T, 1>;
  kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass

// RMSNorm with the residual, version 2: the sum in registers. A row has as many threads as hold it,
// up to 512, and y is made from what they hold: the sum is not loaded. All loads come before the
// first store, and narrow rows are a warp's.
//
// Version 1 loads the sum again. Here a row of more than 16,384 columns takes more registers than
// its threads have; in version 3 several blocks share it.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;

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

/// The sum of `value` over all threads of a row, in each of them (exercise 1.4). A row has the
/// threads that share threadIdx.y: one warp, or all warps of the block.
__device__ inline float row_sum_of(float value) {
  __shared__ float partial[kMostWarps];
  value = warp_sum(value);
  if (blockDim.x == 32) {
    return value;
  }
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

/// Thread t has packs t, t + blockDim.x, ... of row blockIdx.x * blockDim.y + threadIdx.y.
template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(kMostThreads)
    held_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int packs = cols / V;  // of a row
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const RowPack*>(residual + row * residual_stride);
  auto* sum_row = reinterpret_cast<RowPack*>(sum + row * sum_stride);
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  // All loads come before the first store. sum_row may be residual_row, so a load that stands after
  // a store has to wait for it.
  RowPack held[kPacks] = {};  // this thread's packs of x, and then of the sum; zeros past the end
  RowPack other[kPacks] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      held[p] = x_row[i];
      other[p] = residual_row[i];
    }
  }

#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      held[p].values[j] = static_cast<T>(static_cast<float>(held[p].values[j]) +
                                         static_cast<float>(other[p].values[j]));
    }
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      sum_row[i] = held[p];
    }
  }

  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(held[p].values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(row_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      const RowPack weight_pack = weights[i];
      RowPack y_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float normalized = static_cast<float>(held[p].values[j]) * row_rstd;
        y_pack.values[j] = static_cast<T>(normalized * static_cast<float>(weight_pack.values[j]));
      }
      y_row[i] = y_pack;
    }
  }
}

/// A kernel, and how many columns a thread of it holds.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                 const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                 int rows, int cols, float eps);
  int columns;
};

/// The narrowest that is wide enough. Beyond 64 columns a thread the registers may not last.
template <typename T, int V>
Variant<T> variant_for(int cols) {
  if (cols <= 32 * kMostThreads) {
    return {held_kernel<T, V, 32 / V>, 32};
  }
  if (cols <= 64 * kMostThreads) {
    return {held_kernel<T, V, 64 / V>, 64};
  }
  return {held_kernel<T, V, 128 / V>, 128};
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
  constexpr int V = 16 / sizeof(T);
  const bool aligned = is_aligned(x, x_stride, cols) &&
                       is_aligned(residual, residual_stride, cols) && is_aligned(weight, 0, cols) &&
                       is_aligned(sum, sum_stride, cols) && is_aligned(y, y_stride, cols);
  const Variant<T> variant = aligned ? variant_for<T, V>(cols) : variant_for<T, 1>(cols);
  const int warps = (cols + 32 * variant.columns - 1) / (32 * variant.columns);
  const int rows_each = warps == 1 ? 4 : 1;  // narrow rows share a block
  const int64_t blocks = (static_cast<int64_t>(rows) + rows_each - 1) / rows_each;
  const dim3 block(32 * warps, rows_each);
  variant.kernel<<<static_cast<unsigned>(blocks), block, 0, stream>>>(
      x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
      cols, eps);
}

}  // namespace onepass

// Right: packs of 16 bytes where the rows are aligned for that, and blocks as large as a row needs.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 1024;  // threads a block; narrow rows take fewer
constexpr int kMostWarps = kMostThreads / 32;

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// Pack i of the weights; ones for a layer without them.
template <typename T, int V>
__device__ inline Pack<T, V> weights_at(const Pack<T, V>* weight_row, int i) {
  if (weight_row != nullptr) {
    return weight_row[i];
  }
  Pack<T, V> ones;
  for (int j = 0; j < V; ++j) {
    ones.values[j] = static_cast<T>(1.0f);
  }
  return ones;
}

/// The two sums over a row that dx needs.
struct RowSums {
  float wdy;      // of wdy
  float wdy_hat;  // of wdy * x̂
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Both sums over all threads of the block, in every thread. All threads call it together.
__device__ inline RowSums block_sums_of(RowSums sums) {
  __shared__ float partial_wdy[kMostWarps];
  __shared__ float partial_wdy_hat[kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  sums.wdy = warp_sum(sums.wdy);
  sums.wdy_hat = warp_sum(sums.wdy_hat);
  if (lane == 0) {
    partial_wdy[warp] = sums.wdy;
    partial_wdy_hat[warp] = sums.wdy_hat;
  }
  __syncthreads();
  sums.wdy = warp_sum(lane < warps ? partial_wdy[lane] : 0.0f);
  sums.wdy_hat = warp_sum(lane < warps ? partial_wdy_hat[lane] : 0.0f);
  return sums;
}

template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    layernorm_backward_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                 const T* weight, const float* mean, const float* rstd, T* dx,
                                 int64_t dx_stride, int cols) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // packs a row; cols is a multiple of V
  const RowPack* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);  // [packs]
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);     // [packs]
  const RowPack* weight_row = reinterpret_cast<const RowPack*>(weight);  // [packs] or null
  RowPack* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);    // [packs]
  const float row_mean = mean[row];
  const float row_rstd = rstd[row];

  RowSums sums = {0.0f, 0.0f};
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    const RowPack weights = weights_at(weight_row, i);
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weights.values[j]) * static_cast<float>(dy_pack.values[j]);
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      sums.wdy += wdy;
      sums.wdy_hat += wdy * x_hat;
    }
  }
  sums = block_sums_of(sums);
  const float mean_wdy = sums.wdy / cols;
  const float mean_wdy_hat = sums.wdy_hat / cols;

  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    const RowPack weights = weights_at(weight_row, i);
    RowPack dx_pack;
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weights.values[j]) * static_cast<float>(dy_pack.values[j]);
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      dx_pack.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
    dx_row[i] = dx_pack;
  }
}

/// Can every row of a tensor be read in accesses of `bytes` bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols, int bytes) {
  const auto address = reinterpret_cast<uintptr_t>(tensor);
  const int elements = bytes / static_cast<int>(sizeof(T));
  return address % bytes == 0 && stride % elements == 0 && cols % elements == 0;
}

/// Threads for a row of so many packs: two packs a thread, in whole warps, as far as a block goes.
/// The row is read twice, and few large blocks a multiprocessor leave it in the L1 cache meanwhile.
inline int threads_for(int packs) {
  const int warps = (packs + 2 * 32 - 1) / (2 * 32);
  return 32 * (warps < kMostWarps ? warps : kMostWarps);
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned = is_aligned(dy, dy_stride, cols, 16) && is_aligned(x, x_stride, cols, 16) &&
                       is_aligned(weight, 0, cols, 16) && is_aligned(dx, dx_stride, cols, 16);
  if (aligned) {
    constexpr int V = 16 / sizeof(T);
    layernorm_backward_dx_kernel<T, V><<<rows, threads_for(cols / V), 0, stream>>>(
        dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, cols);
  } else {
    layernorm_backward_dx_kernel<T, 1><<<rows, threads_for(cols), 0, stream>>>(
        dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, cols);
  }
}

}  // namespace onepass

// RMSNorm with the residual, version 3: clusters. Rows of more than 16,384 columns are shared by
// the blocks of a cluster, 32 columns a thread.
//
// In version 2 a thread of a wide row holds up to 128 columns. In the next one a block has up to
// 1024 threads of four packs, and rows that are not aligned wait in shared memory.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostBlocks = 8;  // of a cluster

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
/// threads that share threadIdx.y: one warp, or all of the block. Where kShared, all blocks of the
/// cluster have it.
template <bool kShared>
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
  value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (kShared) {
    __shared__ float shares[kMostBlocks];
    const auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x < cluster.num_blocks()) {
      cluster.map_shared_rank(shares, threadIdx.x)[cluster.block_rank()] = value;
    }
    cluster.sync();  // behind it each looks at its own memory, so that a block may end
    value = 0.0f;
    for (unsigned block = 0; block < cluster.num_blocks(); ++block) {
      value += shares[block];
    }
  }
#endif
  return value;
}

/// Thread t has packs t, t + blockDim.x, ... of row blockIdx.x * blockDim.y + threadIdx.y. Where
/// kShared, a cluster has the row, and x_row and its kin begin with this block's part.
template <typename T, int V, int kPacks, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    held_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int blocks = kShared ? gridDim.x / rows : 1;  // of a row
  const int64_t row = static_cast<int64_t>(blockIdx.x / blocks) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int first = blockIdx.x % blocks * blockDim.x * kPacks;  // of the row's packs, this block's
  const int packs = cols / V - first;                           // from there to the end of the row
  const bool leads = first == 0 && threadIdx.x == 0;            // one thread of the row does
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride) + first;
  const auto* residual_row =
      reinterpret_cast<const RowPack*>(residual + row * residual_stride) + first;
  auto* sum_row = reinterpret_cast<RowPack*>(sum + row * sum_stride) + first;
  const auto* weights = reinterpret_cast<const RowPack*>(weight) + first;
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride) + first;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (kShared) {
    cooperative_groups::this_cluster().barrier_arrive();  // this block has begun
  }
#endif

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
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (kShared) {
    cooperative_groups::this_cluster().barrier_wait();  // all have: row_sum_of() may write to them
  }
#endif

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
  const float row_rstd = rsqrtf(row_sum_of<kShared>(squares) / cols + eps);
  if (leads) {
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

/// A kernel, how many columns a thread of it holds, and how many blocks a row has.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                 const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                 int rows, int cols, float eps);
  int columns;
  int blocks;
};

inline bool has_clusters() {
  int device = 0;
  int clusters = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device);
  return clusters != 0;
}

/// The narrowest that is wide enough. 32 columns a thread and as many blocks as that takes; without
/// clusters more columns, though beyond 64 the registers may not last.
template <typename T, int V>
Variant<T> variant_for(int cols) {
  if (cols <= 32 * kMostThreads) {
    return {held_kernel<T, V, 32 / V, false>, 32, 1};
  }
  for (int blocks = 2; blocks <= kMostBlocks && has_clusters(); blocks *= 2) {
    if (cols <= blocks * 32 * kMostThreads) {
      return {held_kernel<T, V, 32 / V, true>, 32, blocks};
    }
  }
  if (cols <= 64 * kMostThreads) {
    return {held_kernel<T, V, 64 / V, false>, 64, 1};
  }
  return {held_kernel<T, V, 128 / V, false>, 128, 1};
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
  const int columns = variant.blocks * 32 * variant.columns;  // of a row's blocks, with a warp each
  const int warps = (cols + columns - 1) / columns;
  const int rows_each = warps == 1 ? 4 : 1;  // narrow rows share a block
  const int64_t blocks = (static_cast<int64_t>(rows) + rows_each - 1) / rows_each;
  const dim3 block(32 * warps, rows_each);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(variant.blocks), 1, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const unsigned grid = static_cast<unsigned>(blocks * variant.blocks);
  const cudaLaunchConfig_t config = {grid, block, 0, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, residual, residual_stride, weight, sum,
                     sum_stride, y, y_stride, rstd, rows, cols, eps);
}

}  // namespace onepass

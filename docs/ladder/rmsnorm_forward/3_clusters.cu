// RMSNorm forward, version 3: a row too wide for the registers of one block is held by those of a
// cluster of blocks, and a narrow row is the work of a single warp.
//
// In version 2 a wide row is loaded twice. Here no block can begin to load before all registers
// that it holds a row in are free; in version 4 wide rows, and those that are not aligned, wait in
// shared memory, where asynchronous copies bring them.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 1024;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostBlocks = 8;  // of a cluster: as many as any GPU takes that has clusters

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

/// The sum of `value` over all threads of a row, in each of them. A row has the threads that share
/// threadIdx.y: one warp, or all of the block. Where kShared, all blocks of the cluster have it.
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
    cluster.barrier_wait();
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

/// Pack i of the weights: ones where there are none.
template <typename T, int V>
__device__ inline Pack<T, V> weights_at(const Pack<T, V>* weights, int i) {
  if (weights != nullptr) {
    return weights[i];
  }
  Pack<T, V> ones;
  for (int j = 0; j < V; ++j) {
    ones.values[j] = static_cast<T>(1.0f);
  }
  return ones;
}

/// For rows that fit in the registers of their threads: kPacks packs a thread. Thread t has packs
/// t, t + blockDim.x, t + 2 * blockDim.x, ... of row blockIdx.x * blockDim.y + threadIdx.y. Where
/// kShared, a cluster has the row, and x_row, weights and y_row begin with this block's part.
template <typename T, int V, int kPacks, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    rmsnorm_held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int rows, int cols, float eps) {
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
  const auto* weights =
      weight == nullptr ? nullptr : reinterpret_cast<const RowPack*>(weight) + first;
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride) + first;
  RowPack held[kPacks] = {};  // this thread's packs of the row; zeros at first
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (kShared) {
    cooperative_groups::this_cluster().barrier_arrive();
  }
#endif

#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      held[p] = x_row[i];
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
      const RowPack weight_pack = weights_at(weights, i);
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

/// For rows of any width on any GPU: one block a row, which is read twice.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    rmsnorm_wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // of a row
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(x_pack.values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(row_sum_of<false>(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    const RowPack weight_pack = weights_at(weights, i);
    RowPack y_pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float normalized = static_cast<float>(x_pack.values[j]) * row_rstd;
      y_pack.values[j] = static_cast<T>(normalized * static_cast<float>(weight_pack.values[j]));
    }
    y_row[i] = y_pack;
  }
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  if (reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0) {
    return true;
  }
  return false;
}

/// A kernel, and its launch: threads of a row in a block, rows of a block, and blocks of a row.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                 int rows, int cols, float eps);
  int threads;
  int rows;
  int blocks;
};

/// As many warps as hold a row of `packs` packs, kPacks a thread. Narrow rows share a block.
template <typename T, int V, int kPacks>
Variant<T> held_variant(int packs) {
  const int warps = (packs + 32 * kPacks - 1) / (32 * kPacks);
  return {rmsnorm_held_kernel<T, V, kPacks, false>, 32 * warps, warps == 1 ? 4 : 1, 1};
}

/// A cluster a row: four blocks of half as many threads as a block may have, so that there is room
/// for two on a multiprocessor, and one loads while the other waits for its cluster; or eight.
template <typename T, int V, int kPacks>
Variant<T> shared_variant(int packs) {
  const int blocks = packs <= 2 * kPacks * kMostThreads ? 4 : kMostBlocks;
  const int warps = (packs + blocks * 32 * kPacks - 1) / (blocks * 32 * kPacks);
  return {rmsnorm_held_kernel<T, V, kPacks, true>, 32 * warps, 1, blocks};
}

inline bool has_clusters() {
  int device = 0;
  int clusters = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device);
  return clusters != 0;
}

/// kFew packs a thread while that is enough, then kMany, as long as the registers last: a thread of
/// 1024 has 64, and 32 columns are 32 of them once they are floats. Then more blocks than one.
template <typename T, int V, int kFew, int kMany>
Variant<T> variant_for(int packs) {
  if (packs <= kMostThreads * kFew) {
    return held_variant<T, V, kFew>(packs);
  }
  if (packs <= kMostThreads * kMany) {
    return held_variant<T, V, kMany>(packs);
  }
  if (packs <= kMostBlocks * kMostThreads * kMany && has_clusters()) {
    return shared_variant<T, V, kMany>(packs);
  }
  return {rmsnorm_wide_kernel<T, V>, kMostThreads, 1, 1};
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  constexpr int V = 16 / sizeof(T);
  const bool aligned =
      is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) && is_aligned(y, y_stride, cols);
  const Variant<T> variant =
      aligned ? variant_for<T, V, 4, 32 / V>(cols / V) : variant_for<T, 1, 8, 16>(cols);
  const int64_t blocks = (static_cast<int64_t>(rows) + variant.rows - 1) / variant.rows;
  const dim3 block(variant.threads, variant.rows);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(variant.blocks), 1, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const unsigned grid = static_cast<unsigned>(blocks * variant.blocks);
  const cudaLaunchConfig_t config = {grid, block, 0, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, weight, y, y_stride, rstd, rows, cols,
                     eps);
}

}  // namespace onepass

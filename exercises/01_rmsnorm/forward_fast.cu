// Exercise 1.4: RMSNorm at the speed of memory.
//
//     x, y    [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight  [cols]        or null, which means ones
//     rstd    [rows]        rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), in fp32
//                           y[r][c] = x[r][c] * rstd[r] * weight[c], rounded to T once
//
// The function of exercise 1.2, and four ideas to make it fast:
//   - A row is read once. Its values stay in registers between reduce and broadcast.
//   - A thread moves 16 bytes at a time, a pack of neighbouring columns, where the rows are aligned
//     for it. That is a quarter or an eighth of the requests.
//   - A narrow row is a warp's work. No barrier, and several rows a block.
//   - A row too wide for the registers of one block is shared by several, where the GPU has
//     clusters (from sm_90 on). Elsewhere it is read twice; the second time a cache may answer.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.4 At the speed of memory"

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
    // TODO 4: make of this block's sum that of all blocks of the cluster. barrier_wait() until all
    // have begun. Let thread b, below num_blocks(), store value in block b's array shares, which is
    // map_shared_rank(shares, b), at this one's block_rank(). sync(), and add up the array here.
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
    // TODO 4, before it: barrier_arrive() of cooperative_groups::this_cluster() says that this
    // block has begun: until then no other one may touch its shared memory.
  }
#endif

  // TODO 1: reduce. Load this thread's packs of x_row into held, those that are there: pack i with
  // i < packs. Add up the squares of all held values in fp32; zeros add nothing.
  // row_sum_of<kShared>() gives the sum over the row. Divide by cols, add eps, take rsqrtf(). Let
  // the thread that leads save the result in rstd[row].

  // TODO 2: broadcast. Make the packs of y from held, not from x_row: x has been read. weights_at()
  // gives a pack of weights. Multiply as floats, convert to T at the very end, and store the pack
  // in y_row.
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

  // TODO 4, any GPU: reduce and broadcast as in exercise 1.2, with packs instead of columns: walk
  // over packs threadIdx.x, threadIdx.x + blockDim.x, ... below packs, twice.
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  // TODO 3: say when: the address of the first row is a multiple of 16 (reinterpret_cast it to
  // uintptr_t), each row starts a whole number of packs after the one before, and a row is a whole
  // number of packs.
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
  // TODO 4, at last: where has_clusters(), give rows that kMostBlocks blocks can hold to
  // shared_variant<T, V, kMany>(packs).
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

// Exercise 2.5: LayerNorm at the speed of memory.
//
//     x, y          [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight, bias  [cols]        each may be null: a layer without it
//     mean          [rows]        mean[r] = mean over c of x[r][c], in fp32
//     rstd          [rows]        rstd[r] = 1 / sqrt(mean over c of (x[r][c] - mean[r])^2 + eps)
//                                 y[r][c] = (x[r][c] - mean[r]) * rstd[r] * weight[c] + bias[c]
//
// The function of exercise 2.1, which walks over a row three times. Here the row is loaded once,
// and the walks are on the chip.
//   - A row lies in shared memory while it is walked over. Asynchronous copies bring it there, past
//     the registers, so that there is room for many blocks on a multiprocessor, and while some sum,
//     the rows of others are on their way.
//   - A thread moves 16 bytes at a time, a pack of neighbouring columns, where rows are aligned.
//   - A narrow row is a warp's work. No barrier, and several rows a block.
//   - A row too wide for a block is shared by several, where the GPU has clusters (from sm_90 on).
//     Elsewhere it is loaded three times.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.5 Forward, at the speed of memory"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostBlocks = 8;         // of a cluster: as many as any GPU takes that has clusters
constexpr int kMostBytes = 64 * 1024;  // of a row in a block: an H100 has room for three such

/// V neighbouring columns, copied, loaded and stored in one access.
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
/// cluster have it. `sum` is 0 and 1 in turn: the two sums of a row have slots of their own. A warp
/// that is ahead writes to the other ones than those that a late warp may still be reading.
template <bool kShared>
__device__ inline float row_sum_of(float value, int sum) {
  __shared__ float partial[2][kMostWarps];
  value = warp_sum(value);
  if (blockDim.x == 32) {
    return value;
  }
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  if (lane == 0) {
    partial[sum][warp] = value;
  }
  __syncthreads();
  value = warp_sum(lane < warps ? partial[sum][lane] : 0.0f);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (kShared) {
    __shared__ float shares[2][kMostBlocks];
    const auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x < cluster.num_blocks()) {
      cluster.map_shared_rank(shares[sum], threadIdx.x)[cluster.block_rank()] = value;
    }
    cluster.sync();  // behind it each looks at its own memory, so that a block may end
    value = 0.0f;
    for (unsigned block = 0; block < cluster.num_blocks(); ++block) {
      value += shares[sum][block];
    }
  }
#endif
  return value;
}

/// Pack i of weight or bias; where there is none, of what changes nothing.
template <typename RowPack, typename T>
__device__ inline RowPack pack_or(const T* values, int i, float otherwise) {
  if (values != nullptr) {
    return reinterpret_cast<const RowPack*>(values)[i];
  }
  RowPack pack;
  for (T& value : pack.values) {
    value = static_cast<T>(otherwise);
  }
  return pack;
}

/// Begins to copy a pack to shared memory. Before sm_80 this is a load and a store.
template <typename RowPack>
__device__ inline void begin_copy(RowPack* slot, const RowPack* source) {
  if constexpr (sizeof(RowPack) >= 4) {
    __pipeline_memcpy_async(slot, source, sizeof(RowPack));
  } else {
    *slot = *source;  // 2 bytes: too few for an asynchronous copy
  }
}

/// For rows that fit into the shared memory of their blocks. Thread t has packs t, t + blockDim.x,
/// ... of row blockIdx.x * blockDim.y + threadIdx.y. Where kShared, a cluster has the row, and
/// x_row and y_row begin with this block's part.
template <typename T, int V, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    held_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int blocks = kShared ? gridDim.x / rows : 1;  // of a row
  const int64_t row = static_cast<int64_t>(blockIdx.x / blocks) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int part = (cols / V + blocks - 1) / blocks;  // of the row's packs, a block's
  const int first = blockIdx.x % blocks * part;       // this block's first one
  const int packs = min(part, cols / V - first);      // from there to its last
  const bool leads = first == 0 && threadIdx.x == 0;  // one thread of the row does
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride) + first;
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride) + first;
  extern __shared__ float4 shared_memory[];  // [blockDim.y][part], aligned to 16 bytes
  RowPack* held = reinterpret_cast<RowPack*>(shared_memory) + threadIdx.y * part;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (kShared) {
    cooperative_groups::this_cluster().barrier_arrive();  // this block has begun
  }
#endif
  float row_mean = 0.0f;
  float row_rstd = 0.0f;

  // TODO 1: the row, and its statistics. begin_copy() this thread's packs of x_row, i below packs,
  // to held + i, all of them, and then wait: __pipeline_commit() and __pipeline_wait_prior(0).
  // [solution 1]
#pragma unroll 8
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    begin_copy(held + i, x_row + i);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  // [end]
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (kShared) {
    cooperative_groups::this_cluster().barrier_wait();  // all have: row_sum_of() may write to them
  }
#endif
  // TODO 1, the statistics: find row_mean and row_rstd as in 2.1, in two walks over the same packs
  // of held. No barrier is needed, for each thread reads only what it has copied itself. The sum
  // for the mean is row_sum_of<kShared>()'s sum 0, that of the squares sum 1. Let the thread that
  // leads save both results.
  // [solution 1]
  float sum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack x_pack = held[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(x_pack.values[j]);
    }
  }
  row_mean = row_sum_of<kShared>(sum, 0) / cols;
  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack x_pack = held[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float centred = static_cast<float>(x_pack.values[j]) - row_mean;
      squares += centred * centred;
    }
  }
  row_rstd = rsqrtf(row_sum_of<kShared>(squares, 1) / cols + eps);
  if (leads) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
  // [end]

  // TODO 2: y. Walk over the packs of held once more, and store those of y_row: (value - mean) *
  // rstd, times the weight, plus the bias, as floats, each converted to T at the very end. Pack i
  // of held is the row's pack first + i: pack_or() gives those of weight and bias.
  // [solution 2]
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack weight_pack = pack_or<RowPack>(weight, first + i, 1.0f);
    const RowPack bias_pack = pack_or<RowPack>(bias, first + i, 0.0f);
    const RowPack x_pack = held[i];
    RowPack y_pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      y_pack.values[j] = static_cast<T>(x_hat * static_cast<float>(weight_pack.values[j]) +
                                        static_cast<float>(bias_pack.values[j]));
    }
    y_row[i] = y_pack;
  }
  // [end]
}

/// For rows of any width on any GPU: one block a row, which is loaded three times, as in 2.1, but
/// with packs.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  // TODO 4: a wide row: as in 2.1, but pack by pack, of which there are cols / V. pack_or() gives
  // those of weight and bias, as above.
  // [solution 4]
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(x_pack.values[j]);
    }
  }
  const float row_mean = row_sum_of<false>(sum, 0) / cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      const float centred = static_cast<float>(x_pack.values[j]) - row_mean;
      squares += centred * centred;
    }
  }
  const float row_rstd = rsqrtf(row_sum_of<false>(squares, 1) / cols + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    const RowPack weight_pack = pack_or<RowPack>(weight, i, 1.0f);
    const RowPack bias_pack = pack_or<RowPack>(bias, i, 0.0f);
    RowPack y_pack;
    for (int j = 0; j < V; ++j) {
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      y_pack.values[j] = static_cast<T>(x_hat * static_cast<float>(weight_pack.values[j]) +
                                        static_cast<float>(bias_pack.values[j]));
    }
    y_row[i] = y_pack;
  }
  // [end]
}

/// Can every row of a tensor be accessed in packs of 16 bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  // TODO 3: say when, as in 1.4.
  // [solution 3]
  if (reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0) {
    return true;
  }
  // [end]
  return false;
}

inline int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

/// A kernel, and its launch: threads of a row in a block, rows of a block, blocks of a row, and the
/// shared memory of a block.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                 int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps);
  int threads;
  int rows;
  int blocks;
  int bytes;
};

/// `blocks` blocks of a cluster, or one, that hold a row of `packs` packs. A thread has four packs,
/// and where that would be too many threads eight; column by column it has 16.
template <typename T, int V>
Variant<T> held_variant(int packs, int blocks) {
  const int part = (packs + blocks - 1) / blocks;
  const int bytes = part * static_cast<int>(sizeof(Pack<T, V>));
  const int each = V == 1 ? 16 : part <= 4 * kMostThreads ? 4 : 8;
  const int wanted = (part + 32 * each - 1) / (32 * each);
  const int warps = wanted < kMostWarps ? wanted : kMostWarps;
  const int rows = warps == 1 ? 4 : 1;  // narrow rows share a block
  const auto kernel = blocks > 1 ? held_kernel<T, V, true> : held_kernel<T, V, false>;
  return {kernel, 32 * warps, rows, blocks, rows * bytes};
}

/// One block while that is enough; then a cluster, if the row has packs.
template <typename T, int V>
Variant<T> variant_for(int packs) {
  const int64_t row_bytes = static_cast<int64_t>(packs) * sizeof(Pack<T, V>);
  const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - 2048;  // 2048: row_sum_of()
  const int most = room < kMostBytes ? room : kMostBytes;
  if (row_bytes <= most) {
    return held_variant<T, V>(packs, 1);
  }
  // TODO 4, at last: where attribute(cudaDevAttrClusterLaunch) is not 0, give rows of packs of
  // several values (V > 1) to the fewest blocks, 2, 4, ... up to kMostBlocks, that have room for
  // them, each for `most` bytes: held_variant<T, V>(packs, blocks).
  // [solution 4]
  if (V > 1 && attribute(cudaDevAttrClusterLaunch) != 0) {
    for (int blocks = 2; blocks <= kMostBlocks; blocks *= 2) {
      if (row_bytes <= static_cast<int64_t>(blocks) * most) {
        return held_variant<T, V>(packs, blocks);
      }
    }
  }
  // [end]
  return {wide_kernel<T, V>, kMostThreads, 1, 1, 0};
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  constexpr int V = 16 / sizeof(T);
  const bool aligned = is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) &&
                       is_aligned(bias, 0, cols) && is_aligned(y, y_stride, cols);
  const Variant<T> variant = aligned ? variant_for<T, V>(cols / V) : variant_for<T, 1>(cols);
  const int64_t blocks = (static_cast<int64_t>(rows) + variant.rows - 1) / variant.rows;
  const dim3 block(variant.threads, variant.rows);
  cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, variant.bytes);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(variant.blocks), 1, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const unsigned grid = static_cast<unsigned>(blocks * variant.blocks);
  const size_t bytes = variant.bytes;
  const cudaLaunchConfig_t config = {grid, block, bytes, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, weight, bias, y, y_stride, mean, rstd,
                     rows, cols, eps);
}

}  // namespace onepass

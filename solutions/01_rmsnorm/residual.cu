// Exercise 1.5: the residual added, and RMSNorm of the sum, in one kernel.
//
//     x, residual, sum, y  [rows, cols]  rows x_stride, residual_stride, ... elements apart
//     weight               [cols]
//     rstd                 [rows]        fp32
//
//     sum[r][c] = x[r][c] + residual[r][c], rounded to T
//     rstd[r]   = 1 / sqrt(mean over c of sum[r][c]^2 + eps)     of the rounded sum
//     y[r][c]   = sum[r][c] * rstd[r] * weight[c], rounded to T once
//
// sum may be the same buffer as residual, and y the same as x: then the function works in place.
//
// Four tensors pass through memory: x and residual come in, sum and y go out. The sum is not read
// back: like the row in exercise 1.4 it waits in registers, in packs of 16 bytes, and wide rows are
// shared by the blocks of a cluster. Rows that are not aligned wait in shared memory.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.5 With the residual"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>
#include <cstring>

#if __has_include(<cuda/ptx>) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
#define ONEPASS_CLUSTERS  // a GPU has them from sm_90 on, and nvcc what they need here from 12.4
#include <cuda/ptx>
#endif

namespace onepass {

constexpr int kMostThreads = 1024;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kFewThreads = 640;  // of a block, where two leave 48 registers for each thread
constexpr int kMostBlocks = 8;    // of a cluster
constexpr int kMostBytes =
    72 * 1024;  // of x and residual in shared memory: there is room for three

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// How many elements behind a multiple of 16 bytes an array begins.
template <typename T>
__device__ inline int lead_of(const T* array) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(array) % 16 / sizeof(T));
}

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// What the warps of a cluster send to each of its blocks: their sums.
struct Shares {
  float sums[kMostBlocks * kMostWarps];  // those of block 0 first
  uint64_t arrived;                      // a barrier of shared memory: it counts their bytes
};

/// This block's.
__device__ inline Shares& own_shares() {
  __shared__ Shares shares;
  return shares;
}

/// Before anything else: makes the own shares ready, and says so to the other blocks.
__device__ inline void begin_cluster() {
#ifdef ONEPASS_CLUSTERS
  namespace ptx = cuda::ptx;
  uint64_t* arrived = &own_shares().arrived;
  if (threadIdx.x == 0) {
    const uint32_t bytes = sizeof(float) * gridDim.y * (blockDim.x / 32);
    ptx::mbarrier_init(arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, arrived,
                                   bytes);
  }
  // Not cluster.barrier_arrive(): what stands above is all that others have to see, and that would
  // wait for more.
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

/// The sum of `value` over all threads of a row, in each of them (exercise 1.4). A row has the
/// threads that share threadIdx.y: one warp, or all of the block. Where kShared, those of gridDim.y
/// blocks, a cluster.
template <bool kShared>
__device__ inline float row_sum_of(float value) {
  __shared__ float partial[kMostWarps];
  value = warp_sum(value);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
#ifdef ONEPASS_CLUSTERS
  if (kShared && gridDim.y > 1) {
    const auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_wait();             // all have begun
    if (lane < cluster.num_blocks()) {  // lane b sends the warp's sum to block b
      Shares& there = *cluster.map_shared_rank(&own_shares(), lane);
      cuda::ptx::st_async(&there.sums[cluster.block_rank() * warps + warp], value, &there.arrived);
    }
    while (!cuda::ptx::mbarrier_try_wait_parity(&own_shares().arrived, 0)) {
    }
    value = 0.0f;
    for (int i = lane; i < cluster.num_blocks() * warps; i += 32) {
      value += own_shares().sums[i];
    }
    return warp_sum(value);
  }
#endif
  if (blockDim.x == 32) {
    __syncwarp();  // as behind the barrier below, all see what any has stored before
    return value;
  }
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

/// Thread t has packs t, t + blockDim.x, ... of row blockIdx.x * blockDim.y + threadIdx.y. Where
/// kShared, a cluster has the row, and x_row and its kin begin with this block's part.
template <typename T, int V, int kPacks, bool kShared>
__global__ void __launch_bounds__(kShared ? kFewThreads : kMostThreads, kShared ? 2 : 1)
    held_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int first = kShared ? blockIdx.y * blockDim.x * kPacks : 0;  // this block's first pack
  const int packs = cols / V - first;                 // from there to the end of the row
  const bool leads = first == 0 && threadIdx.x == 0;  // one thread of the row does
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride) + first;
  const auto* residual_row =
      reinterpret_cast<const RowPack*>(residual + row * residual_stride) + first;
  if (kShared) {
    begin_cluster();
  }

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

  // TODO 1: add other to held, element by element: as floats, rounded to T. What is in held
  // afterwards is the sum, as it is stored and as it is normalised.
  // [solution 1]
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      held[p].values[j] = static_cast<T>(static_cast<float>(held[p].values[j]) +
                                         static_cast<float>(other[p].values[j]));
    }
  }
  // [end]

  // TODO 2: reduce held to the row's rstd, as in exercise 1.4, with row_sum_of<kShared>(). Let the
  // thread that leads save it in rstd[row].
  // [solution 2]
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
  // [end]

  auto* sum_row = reinterpret_cast<RowPack*>(sum + row * sum_stride) + first;

  // TODO 1, at last: store held in sum_row, those packs that are there: pack i with i < packs.
  // (Stored before the row was summed up, it was slower: on an H200 89 instead of 96 % of a copy at
  // 8192 columns.)
  // [solution 1]
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      sum_row[i] = held[p];
    }
  }
  // [end]

  const auto* weights = reinterpret_cast<const RowPack*>(weight) + first;
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride) + first;

  // TODO 3: make the packs of y from held and the packs of weights, and store them in y_row.
  // [solution 3]
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
  // [end]
}

/// Elements first, first + 1, ... of an array of `size` elements, a pack of them, at any address:
/// what two aligned packs have of it. At the array's ends element by element, with zeros beyond.
template <typename T>
__device__ inline Pack<T, 16 / sizeof(T)> pack_at(const T* array, int first, int size) {
  constexpr int V = 16 / sizeof(T);
  const int lead = lead_of(array + first);
  const auto* packs = reinterpret_cast<const Pack<T, V>*>(array + first - lead);
  Pack<T, V> result = {};
  if (first < lead || first - lead + (lead == 0 ? V : 2 * V) > size) {
    for (int j = 0; j < V; ++j) {
      if (first + j >= 0 && first + j < size) {
        result.values[j] = array[first + j];
      }
    }
    return result;
  }
  if (lead == 0) {
    return packs[0];
  }
  const Pack<T, V> both[2] = {packs[0], packs[1]};
  uint32_t words[8];
  memcpy(words, both, 32);
  const int bytes = lead * static_cast<int>(sizeof(T));  // to leave out: 8, 4 and 2 of them
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    words[j] = bytes & 8 ? words[j + 2] : words[j];
  }
#pragma unroll
  for (int j = 0; j < 5; ++j) {
    words[j] = bytes & 4 ? words[j + 1] : words[j];
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    words[j] = __funnelshift_r(words[j], words[j + 1], (bytes & 2) * 8);
  }
  memcpy(&result, words, 16);
  return result;
}

/// Stores array[0], ... array[count - 1] in packs of 16 aligned bytes. pack_of(col) gives that of
/// array[col] and those behind it; of the first and the last not everything may be the array's.
template <typename T, typename PackOf>
__device__ inline void store_packs(T* array, int count, PackOf pack_of) {
  constexpr int V = 16 / sizeof(T);
  const int lead = lead_of(array);
#pragma unroll 2
  for (int i = threadIdx.x; i * V < lead + count; i += blockDim.x) {
    const int col = i * V - lead;
    const Pack<T, V> pack = pack_of(col);
    if (col >= 0 && col + V <= count) {
      float4 bytes;  // nvcc makes one store of them, and eight of a pack of 16-bit values here
      memcpy(&bytes, &pack, 16);
      __stcs(reinterpret_cast<float4*>(array + col), bytes);
    } else {
      for (int j = 0; j < V; ++j) {
        if (col + j >= 0 && col + j < count) {
          array[col + j] = pack.values[j];
        }
      }
    }
  }
}

/// Begins to copy array[0], ... array[count - 1] to shared memory, in the packs of 16 aligned bytes
/// that they touch in memory; what of the first and the last is not theirs, is zero.
template <typename T>
__device__ inline void begin_copy(T* packs, int slots, const T* array, int count) {
  constexpr int V = 16 / sizeof(T);
#pragma unroll 4
  for (int i = threadIdx.x; i < slots; i += blockDim.x) {
    const int col = i * V - lead_of(array);
    if (col >= 0 && col + V <= count) {
      __pipeline_memcpy_async(packs + i * V, array + col, 16);
    } else {
      for (int j = 0; j < V; ++j) {
        const bool inside = col + j >= 0 && col + j < count;
        packs[i * V + j] = inside ? array[col + j] : static_cast<T>(0.0f);
      }
    }
  }
}

/// Waits for all threads of a row.
__device__ inline void sync_row() {
  if (blockDim.x == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// For rows at any address: x, and then the sum, waits in shared memory, and residual beside it.
/// Where gridDim.y > 1, a cluster has the row, and x_part and its kin are this block's.
template <typename T>
__global__ void __launch_bounds__(kMostThreads)
    shared_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                  const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                  int rows, int cols, float eps) {
  constexpr int V = 16 / sizeof(T);
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;
  }
  const int part = ((cols - 1) / V / gridDim.y + 1) * V;  // of the row's columns, a block's
  const int first = blockIdx.y * part;                    // this block's first one
  const int count = max(0, min(part, cols - first));
  const T* x_part = x + row * x_stride + first;
  const T* residual_part = residual + row * residual_stride + first;
  const int slots = part / V + 1;
  extern __shared__ float4 shared_memory[];  // [blockDim.y][2][slots]
  T* values = reinterpret_cast<T*>(shared_memory + threadIdx.y * 2 * slots);
  auto* held = reinterpret_cast<RowPack*>(values);
  const T* others = values + slots * V;
  const int lead = lead_of(x_part);  // x_part[col] is values[lead + col]
  const int other_lead = lead_of(residual_part);
  const int size = slots * V;
  if (gridDim.y > 1) {
    begin_cluster();
  }
  begin_copy(values, slots, x_part, count);
  begin_copy(values + size, slots, residual_part, count);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  sync_row();  // what of residual belongs to a pack of x, other threads have copied
  float row_rstd = 0.0f;

  // TODO 1, shared memory: to each of this thread's packs held[i], threadIdx.x, threadIdx.x +
  // blockDim.x, ... below slots, add that of others which has the same columns, as above:
  // pack_at(others, other_lead + i * V - lead, size). After sync_row() the sum is whole. Store it
  // with store_packs(): the pack of sum_part[col] is pack_at(values, lead + col, size).
  // [solution 1]
#pragma unroll 2
  for (int i = threadIdx.x; i < slots; i += blockDim.x) {
    RowPack pack = held[i];
    const RowPack other = pack_at(others, other_lead + i * V - lead, size);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      pack.values[j] =
          static_cast<T>(static_cast<float>(pack.values[j]) + static_cast<float>(other.values[j]));
    }
    held[i] = pack;
  }
  sync_row();
  T* sum_part = sum + row * sum_stride + first;
  store_packs(sum_part, count, [&](int col) { return pack_at(values, lead + col, size); });
  // [end]

  // TODO 2, shared memory: reduce this thread's packs of held to row_rstd, with row_sum_of<true>().
  // Let the first thread of the block whose first is 0 save it.
  // [solution 2]
  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < slots; i += blockDim.x) {
    const RowPack pack = held[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      squares += static_cast<float>(pack.values[j]) * static_cast<float>(pack.values[j]);
    }
  }
  row_rstd = rsqrtf(row_sum_of<true>(squares) / cols + eps);
  if (first == 0 && threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  // [end]

  // TODO 3, shared memory: store y_part in packs, as you have stored the sum. The weights of a pack
  // are pack_at(weight, first + col, cols).
  T* y_part = y + row * y_stride + first;
  // [solution 3]
  store_packs(y_part, count, [&](int col) {
    RowPack pack = pack_at(values, lead + col, size);
    const RowPack weight_pack = pack_at(weight, first + col, cols);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float normalized = static_cast<float>(pack.values[j]) * row_rstd;
      pack.values[j] = static_cast<T>(normalized * static_cast<float>(weight_pack.values[j]));
    }
    return pack;
  });
  // [end]
}

/// A kernel, how many columns a thread of it holds, how many blocks a row has, and their bytes of
/// shared memory for a row.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                 const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                 int rows, int cols, float eps);
  int columns;
  int blocks;
  int bytes;
};

inline int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

inline int most_blocks() {
#ifdef ONEPASS_CLUSTERS
  return attribute(cudaDevAttrClusterLaunch) != 0 ? kMostBlocks : 1;
#else
  return 1;
#endif
}

/// Four packs a thread, and as few blocks as hold the row with 256 threads each: so an H100 was
/// seen to be fastest. Where eight are too few, or there are no clusters, with more threads, and at
/// last with more columns a thread, though the registers may not last.
template <typename T>
Variant<T> aligned_variant(int cols) {
  constexpr int V = 16 / sizeof(T);
  constexpr int kEach = 4 * V;
  int blocks = 1;
  while (blocks < most_blocks() && cols > blocks * 256 * kEach) {
    blocks *= 2;
  }
  const int most_threads = blocks > 1 ? kFewThreads : kMostThreads;
  if (cols <= blocks * most_threads * kEach) {
    return {blocks > 1 ? held_kernel<T, V, 4, true> : held_kernel<T, V, 4, false>, kEach, blocks,
            0};
  }
  return {held_kernel<T, V, 64 / V, false>, 64, 1, 0};
}

/// As few blocks as hold x and residual in kMostBytes each, and if eight do not, in what there is.
/// Where there is no room, the registers hold a row, column by column.
template <typename T>
Variant<T> unaligned_variant(int cols) {
  constexpr int V = 16 / sizeof(T);
  const int most = most_blocks();
  const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - 2048;  // 2048: row_sum_of()
  for (int blocks = 1; blocks <= most; blocks *= 2) {
    const int bytes = 32 * ((cols - 1) / V / blocks + 2);
    if (bytes <= room && (bytes <= kMostBytes || blocks == most)) {
      return {shared_kernel<T>, 8 * V, blocks, bytes};
    }
  }
  if (cols <= 16 * kMostThreads) {
    return {held_kernel<T, 1, 16, false>, 16, 1, 0};
  }
  return {held_kernel<T, 1, 64, false>, 64, 1, 0};
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
  const Variant<T> variant = aligned ? aligned_variant<T>(cols) : unaligned_variant<T>(cols);
  const int columns = variant.blocks * 32 * variant.columns;  // of a row's blocks, with a warp each
  const int warps = (cols + columns - 1) / columns;
  const int rows_each = warps == 1 ? 4 : 1;  // narrow rows share a block
  const int64_t blocks = (static_cast<int64_t>(rows) + rows_each - 1) / rows_each;
  const dim3 block(32 * warps, rows_each);
  const dim3 grid(static_cast<unsigned>(blocks), variant.blocks);
  const size_t bytes = rows_each * variant.bytes;
  if (bytes > 0) {
    cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(bytes));
  }
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, grid.y, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const cudaLaunchConfig_t config = {grid, block, bytes, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, residual, residual_stride, weight, sum,
                     sum_stride, y, y_stride, rstd, rows, cols, eps);
}

}  // namespace onepass

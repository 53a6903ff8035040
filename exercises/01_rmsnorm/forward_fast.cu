// Exercise 1.4: RMSNorm at the speed of memory.
//
//     x, y    [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight  [cols]        or null, which means ones
//     rstd    [rows]        rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), in fp32
//                           y[r][c] = x[r][c] * rstd[r] * weight[c], rounded to T once
//
// The function of exercise 1.2, and four ideas to make it fast:
//   - A row is read once. Its values stay in registers between reduce and broadcast.
//   - A thread moves 16 bytes at a time, a pack of neighbouring columns. That is a quarter or an
//     eighth of the requests.
//   - A narrow row is a warp's work. No barrier, and several rows a block.
//   - A wide row is shared by the blocks of a cluster, where the GPU has clusters (from sm_90 on).
//   - A row that is not aligned to 16 bytes waits in shared memory, of one block or of a cluster.
//     Where there is no room for it, it is read twice; the second time a cache may answer.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.4 At the speed of memory"

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
constexpr int kFewThreads = 640;       // of a block, where two leave 48 registers for each thread
constexpr int kMostBlocks = 8;         // of a cluster: as many as any GPU takes that has clusters
constexpr int kMostBytes = 72 * 1024;  // of a row in shared memory: an H100 has room for three such

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

/// The sum of `value` over all threads of a row, in each of them. A row has the threads that share
/// threadIdx.y: one warp, or all of the block. Where kShared, those of gridDim.y blocks, a cluster.
template <bool kShared>
__device__ inline float row_sum_of(float value) {
  __shared__ float partial[kMostWarps];
  value = warp_sum(value);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
#ifdef ONEPASS_CLUSTERS
  if (kShared && gridDim.y > 1) {
    // TODO 4: make of this warp's sum that of all warps of the cluster. barrier_wait() until all
    // blocks have begun. Let lane b, below num_blocks(), send the sum to block b, whose shares are
    // at map_shared_rank(&own_shares(), b): cuda::ptx::st_async() stores it in sums, behind those
    // of the blocks and warps before this one, and adds its bytes to arrived, when they are there.
    // Wait until all have come, cuda::ptx::mbarrier_try_wait_parity(&own_shares().arrived, 0) says
    // it, and add up the own shares.
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
/// kShared, gridDim.y blocks share the row, and x_row and its kin begin with this one's part.
template <typename T, int V, int kPacks, bool kShared>
__global__ void __launch_bounds__(kShared ? kFewThreads : kMostThreads / (32 < kPacks * V ? 2 : 1),
                                  kShared ? 2 : 1)
    rmsnorm_held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int first = kShared ? blockIdx.y * blockDim.x * kPacks : 0;  // this block's first pack
  const int packs = cols / V - first;                 // from there to the end of the row
  const bool leads = first == 0 && threadIdx.x == 0;  // one thread of the row does
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride) + first;
  const auto* weights =
      weight == nullptr ? nullptr : reinterpret_cast<const RowPack*>(weight) + first;
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride) + first;
  if (kShared && gridDim.y > 1) {
    begin_cluster();
  }
  RowPack held[kPacks] = {};  // this thread's packs of the row; zeros at first

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

/// A pack of array[first] and those behind it, for any address: what two aligned packs have of it.
/// Where these are not all within the array of `size` elements, element by element.
template <typename T>
__device__ inline Pack<T, 16 / sizeof(T)> pack_at(const T* array, int first, int size) {
  constexpr int V = 16 / sizeof(T);
  const int lead = lead_of(array + first);
  const auto* packs = reinterpret_cast<const Pack<T, V>*>(array + first - lead);
  if (lead == 0) {
    return packs[0];
  }
  Pack<T, V> result;
  if (first < lead || first - lead + 2 * V > size) {
    for (int j = 0; j < V; ++j) {
      result.values[j] = array[first + j];
    }
    return result;
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

/// For rows at any address, and for wide ones: the row waits in shared memory, in the packs of 16
/// aligned bytes that it touches in memory; what of the first and the last is not the row's, is
/// zero. Where gridDim.y > 1, a cluster has the row, and x_part and y_part are this block's.
template <typename T>
__global__ void __launch_bounds__(kMostThreads / 2)
    rmsnorm_shared_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps) {
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
  T* y_part = y + row * y_stride + first;
  const int slots = part / V + 1;
  extern __shared__ float4 shared_memory[];  // [blockDim.y][slots]
  auto* held = reinterpret_cast<RowPack*>(shared_memory) + threadIdx.y * slots;
  const T* values = reinterpret_cast<const T*>(held);  // x_part[col] is values[x_lead + col]
  const int x_lead = lead_of(x_part);
  const int y_lead = lead_of(y_part);
  if (gridDim.y > 1) {
    begin_cluster();
  }
#pragma unroll 4
  for (int i = threadIdx.x; i < slots; i += blockDim.x) {
    const int col = i * V - x_lead;
    if (col >= 0 && col + V <= count) {
      __pipeline_memcpy_async(held + i, x_part + col, 16);
    } else {
      for (int j = 0; j < V; ++j) {
        const bool inside = col + j >= 0 && col + j < count;
        held[i].values[j] = inside ? x_part[col + j] : static_cast<T>(0.0f);
      }
    }
  }
  float row_rstd = 0.0f;

  // TODO 4, shared memory: the copies are on their way. __pipeline_commit() them, wait with
  // __pipeline_wait_prior(0), and reduce this thread's packs, which are threadIdx.x,
  // threadIdx.x + blockDim.x, ... below slots, with row_sum_of<true>(). One thread of all blocks
  // saves rstd[row]: the first one where first is 0.

  if (gridDim.y > 1) {
    __syncthreads();  // what others have copied is needed, and sums of a cluster wait for no warp
  }

  // The packs of y are those of 16 aligned bytes of y. What they need of x and of the weights may
  // lie in two packs.
  const auto result = [&](T value, float factor) {
    return static_cast<T>(static_cast<float>(value) * row_rstd * factor);
  };
#pragma unroll 2
  for (int i = threadIdx.x; i * V < y_lead + count; i += blockDim.x) {
    const int col = i * V - y_lead;
    if (col >= 0 && col + V <= count) {
      RowPack pack = pack_at(values, x_lead + col, slots * V);
      if (weight != nullptr) {
        const RowPack weight_pack = pack_at(weight, first + col, cols);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          pack.values[j] = result(pack.values[j], static_cast<float>(weight_pack.values[j]));
        }
      } else {
#pragma unroll
        for (int j = 0; j < V; ++j) {
          pack.values[j] = result(pack.values[j], 1.0f);
        }
      }
      float4 bytes;  // nvcc makes one store of them, and eight of a pack of 16-bit values here
      memcpy(&bytes, &pack, 16);
      __stcs(reinterpret_cast<float4*>(y_part + col), bytes);
    } else {
      for (int c = max(col, 0); c < min(col + V, count); ++c) {
        const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[first + c]);
        y_part[c] = result(values[x_lead + c], factor);
      }
    }
  }
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

/// A kernel, and its launch: threads of a row in a block, rows of a block, blocks of a row, and the
/// shared memory of a block.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                 int rows, int cols, float eps);
  int threads;
  int rows;
  int blocks;
  int bytes;
};

/// As many warps as hold a row of `packs` packs, kPacks a thread. Narrow rows share a block.
template <typename T, int V, int kPacks>
Variant<T> held_variant(int packs, int blocks) {
  const int each = blocks * 32 * kPacks;  // packs of a row's blocks, with a warp each
  const int warps = (packs + each - 1) / each;
  auto kernel = rmsnorm_held_kernel<T, V, kPacks, false>;
  if constexpr (V > 1) {  // column by column 48 registers are too few
    kernel = 32 * warps <= kFewThreads ? rmsnorm_held_kernel<T, V, kPacks, true> : kernel;
  }
  return {kernel, 32 * warps, warps == 1 ? 4 : 1, blocks, 0};
}

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

/// As few blocks as hold a row in kMostBytes each, or what a block may have. Eight packs a thread.
/// Without a kernel where there is no room.
template <typename T>
Variant<T> shared_variant(int cols) {
  constexpr int V = 16 / sizeof(T);
  const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - 2048;  // 2048: row_sum_of()
  for (int blocks = 1; blocks <= most_blocks(); blocks *= 2) {
    const int slots = (cols - 1) / V / blocks + 2;
    if (16 * slots <= (room < kMostBytes ? room : kMostBytes)) {
      const int warps = slots < 16 * 256 ? (slots + 255) / 256 : 16;
      const int rows = warps == 1 ? 4 : 1;
      return {rmsnorm_shared_kernel<T>, 32 * warps, rows, blocks, rows * 16 * slots};
    }
  }
  return {};
}

/// Four packs a thread, and as few blocks as hold the row with 512 threads each; of four blocks
/// 384, before there are eight. So an H200 was seen to be fastest.
constexpr int packs_for(int blocks) {
  return blocks * 4 * (blocks < 4 ? 512 : 384);
}

template <typename T>
Variant<T> variant_for(int cols, bool aligned) {
  constexpr int V = 16 / sizeof(T);
  const int packs = cols / V;
  int blocks = 1;
  // TODO 4, a cluster: as long as there are fewer than most_blocks(), and more packs than
  // packs_for(blocks), make it twice as many.
  const int most_threads = blocks > 1 ? kMostThreads / 2 : kMostThreads;
  if (aligned && packs <= blocks * 4 * most_threads) {
    return held_variant<T, V, 4>(packs, blocks);
  }
  if (aligned && cols <= 32 * kMostThreads) {  // 32 floats are half the registers of a thread
    return held_variant<T, V, 32 / V>(packs, 1);
  }
  // TODO 4, at last: all other rows wait in shared memory. Return shared_variant<T>(cols), if that
  // has a kernel.
  if (!aligned && cols <= 16 * kMostThreads) {
    return held_variant<T, 1, 16>(cols, 1);
  }
  return {aligned ? rmsnorm_wide_kernel<T, V> : rmsnorm_wide_kernel<T, 1>, kMostThreads, 1, 1, 0};
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned =
      is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) && is_aligned(y, y_stride, cols);
  const Variant<T> variant = variant_for<T>(cols, aligned);
  const int64_t blocks = (static_cast<int64_t>(rows) + variant.rows - 1) / variant.rows;
  const dim3 block(variant.threads, variant.rows);
  const dim3 grid(static_cast<unsigned>(blocks), variant.blocks);
  const size_t bytes = variant.bytes;
  if (bytes > 0) {
    cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         variant.bytes);
  }
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, grid.y, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const cudaLaunchConfig_t config = {grid, block, bytes, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, weight, y, y_stride, rstd, rows, cols,
                     eps);
}

}  // namespace onepass

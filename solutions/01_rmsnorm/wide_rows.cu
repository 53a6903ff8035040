// Exercise 1.7 (optional): RMSNorm of wide rows, each shared by the blocks of a cluster.
//
//     x, y    [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight  [cols]        or null, which means ones
//     rstd    [rows]        rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), in fp32
//                           y[r][c] = x[r][c] * rstd[r] * weight[c], rounded to T once
//
// The function of exercise 1.4, for rows that one block cannot hold in its registers. Up to eight
// blocks share a row: each holds a part of it, and their warps send each other their sums through
// distributed shared memory. So each element of x is loaded once, up to 262,144 columns.
//
// Grade it:   build/onepass grade 1.7
// Read first: docs/01_rmsnorm.md, "1.7 Wide rows (optional)"

#include <onepass/fast.h>
#include <onepass/plain_rows.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row in a block
constexpr int kFewThreads = 128;   // of a row in a block, unless kMostBlocks are too few then

/// What the warps of a cluster send to each of its blocks.
struct Slots {
  float sums[kMostBlocks * kMostThreads / 32];  // of each warp, those of block 0 first
  uint64_t arrived;                             // an mbarrier: it counts the bytes that arrived
};

__device__ inline Slots& own_slots() {
  __shared__ Slots slots;
  return slots;
}

/// Before anything else: makes this block's slots ready, and says so to the other blocks.
__device__ inline void begin_cluster() {
#ifdef ONEPASS_CLUSTERS
  namespace ptx = cuda::ptx;
  if (threadIdx.x == 0) {
    uint64_t* arrived = &own_slots().arrived;
    ptx::mbarrier_init(arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, arrived,
                                   4u * gridDim.y * (blockDim.x / 32));
  }
  // Not barrier_arrive(): relaxed, this does not wait for loads and stores in flight.
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

/// The sum of `value` over all threads of all blocks of the cluster, in each of them.
__device__ inline float cluster_sum(float value) {
  if (gridDim.y == 1) {
    return RowSum<false>()(value);
  }
  value = warp_sum(value);
#ifdef ONEPASS_CLUSTERS
  namespace ptx = cuda::ptx;
  const auto cluster = cooperative_groups::this_cluster();
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;  // of each block
  const int blocks = gridDim.y;
  // TODO 3: make of this warp's sum that of all warps of the cluster. cluster.barrier_wait() until
  // all blocks are ready. Lane b, below blocks, sends the sum to block b, whose slots are at
  // cluster.map_shared_rank(&own_slots(), b): ptx::st_async(place, value, barrier) stores it in its
  // place of their sums, warp `warp` of block blockIdx.y, and adds its bytes to their `arrived`.
  // Wait until ptx::mbarrier_try_wait_parity(&own_slots().arrived, 0) says that all bytes have come
  // to this block, and add up its own sums.
  // [solution 3]
  cluster.barrier_wait();
  if (lane < blocks) {
    Slots& there = *cluster.map_shared_rank(&own_slots(), lane);
    ptx::st_async(&there.sums[blockIdx.y * warps + warp], value, &there.arrived);
  }
  while (!ptx::mbarrier_try_wait_parity(&own_slots().arrived, 0)) {
  }
  value = 0.0f;
  for (int i = lane; i < blocks * warps; i += 32) {
    value += own_slots().sums[i];
  }
  value = warp_sum(value);
  // [end]
#endif
  return value;
}

/// How many blocks have to fit on an SM, so that some load while others store.
template <typename RowPack, int kPacks, bool kEarly>
constexpr int kBlocksOfSm = kEarly                                          ? 5
                            : kPacks > 32 || kPacks * sizeof(RowPack) > 128 ? 1
                                                                            : 2;

/// Row blockIdx.x, of which this block has kPacks packs per thread. kEarly: weights are loaded
/// before the sum, as in 1.4, and are not null.
template <typename T, int V, int kPacks, bool kEarly>
__global__ void __launch_bounds__(kEarly ? kFewThreads : kMostThreads,
                                  kBlocksOfSm<Pack<T, V>, kPacks, kEarly>)
    wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  using RowPack = Pack<T, V>;
  if (gridDim.y > 1) {
    begin_cluster();
  }
  const int64_t row = blockIdx.x;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* weight_row = reinterpret_cast<const RowPack*>(weight);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  const int packs = cols / V;  // of the row
  // A thread has every step-th pack of the part, from its own first one on. Small packs lie side by
  // side in a warp, where p * step costs nothing.
  const bool is_wide = sizeof(RowPack) == 16;
  const int step = is_wide ? blockDim.x : 32;
  const int own_first = is_wide ? threadIdx.x : threadIdx.x / 32 * 32 * kPacks + threadIdx.x % 32;
  RowPack held[kPacks] = {};
  RowPack weights[kPacks];
  int first = 0;
  float squares = 0.0f;

  // TODO 1: the part of this block. Each block of the row has kPacks * blockDim.x packs of it: set
  // `first` to the number, in the row, of this thread's first pack, which is number own_first of
  // the part. Load its packs first, first + step, ... into held, those that are below `packs`, and
  // if kEarly their weights into weights. Add up the squares, as in 1.4.
  // [solution 1]
  first = blockIdx.y * kPacks * blockDim.x + own_first;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (first + p * step < packs) {
      held[p] = x_row[first + p * step];
    }
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (kEarly && first + p * step < packs) {
      weights[p] = weight_row[first + p * step];
    }
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      squares += value_of(held[p], j) * value_of(held[p], j);
    }
  }
  // [end]
  const float row_rstd = rsqrtf(cluster_sum(squares) / cols + eps);

  // TODO 1, y: the thread of the cluster with pack 0 of the row saves row_rstd. Make the packs of y
  // from held. If their weights did not come early, take pack_or<false, V>(weight, i, 1.0f).
  // [solution 1]
  if (first == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = first + p * step;
    if (i < packs) {
      const RowPack weight_pack = kEarly ? weights[p] : pack_or<false, V>(weight, i, 1.0f);
      RowPack pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float normalized = value_of(held[p], j) * row_rstd;
        pack.values[j] = static_cast<T>(normalized * value_of(weight_pack, j));
      }
      y_row[i] = pack;
    }
  }
  // [end]
}

/// How many blocks share a row that so many threads hold.
inline int blocks_for(int threads) {
  int blocks = 1;
  // TODO 2: as few as hold it with kFewThreads threads each, kMostBlocks at most. Small blocks
  // leave the registers of an SM to several: some load while others store.
  // [solution 2]
  blocks = min((threads - 1) / kFewThreads + 1, kMostBlocks);
  // [end]
  return blocks;
}

/// How many bytes may an access to the rows of a tensor have (exercise 1.4)?
template <typename T>
int access_bytes(const T* tensor, int64_t stride, int cols) {
  int bytes = sizeof(T);
  for (const int64_t size : {4, 8, 16}) {
    const bool divides = reinterpret_cast<uintptr_t>(tensor) % size == 0 &&
                         stride * sizeof(T) % size == 0 && cols * sizeof(T) % size == 0;
    bytes = divides ? size : bytes;
  }
  return bytes;
}

template <typename T>
void rmsnorm_wide_rows(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int bytes = min(access_bytes(weight, 0, cols),
                        min(access_bytes(x, x_stride, cols), access_bytes(y, y_stride, cols)));
  with_pack_of<T>(bytes, [&](auto pack) {
    constexpr int V = pack.value;
    constexpr int kPacks = 128 / (V * sizeof(T) < 4 ? 4 : V * sizeof(T));  // 32 registers
    const int row_threads = (cols / V - 1) / kPacks + 1;
    const int blocks = blocks_for(row_threads);
    const int threads = ((row_threads - 1) / blocks / 32 + 1) * 32;  // of each block
    if (!has_clusters() || threads > 2 * kMostThreads) {
      plain::rmsnorm(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
    } else if (V * sizeof(T) == 16 && threads <= kFewThreads && weight != nullptr) {
      launch_rows(wide_kernel<T, V, kPacks, true>, {threads, 1, blocks}, rows, stream, x, x_stride,
                  weight, y, y_stride, rstd, cols, eps);
    } else if (threads <= kMostThreads) {
      launch_rows(wide_kernel<T, V, kPacks, false>, {threads, 1, blocks}, rows, stream, x, x_stride,
                  weight, y, y_stride, rstd, cols, eps);
    } else {  // twice as many packs per thread
      launch_rows(wide_kernel<T, V, 2 * kPacks, false>, {(threads + 63) / 64 * 32, 1, blocks}, rows,
                  stream, x, x_stride, weight, y, y_stride, rstd, cols, eps);
    }
  });
}

}  // namespace onepass

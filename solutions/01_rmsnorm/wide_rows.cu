// Exercise 1.7 (optional): RMSNorm of wide rows, each shared by the blocks of a cluster.
//
//     x, y    [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight  [cols]        or null, which means ones
//     rstd    [rows]        rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), in fp32
//                           y[r][c] = x[r][c] * rstd[r] * weight[c], rounded to T once
//
// The function of exercise 1.4, for rows that one block cannot hold in its registers. Two, four or
// eight blocks share a row: each holds a part of it, and their warps exchange sums through
// distributed shared memory. So each element of x is loaded once, up to 262,144 columns.
//
// Grade it:   build/onepass grade 1.7
// Read first: docs/01_rmsnorm.md, "1.7 Wide rows (optional)"

#include <onepass/fast.h>
#include <onepass/plain_rows.h>
#include <onepass/rmsnorm.h>

#include <algorithm>

namespace onepass {

constexpr int kMostThreads = 1024;
constexpr int kColumns = 32;  // per thread: 32 registers of fp32, 16 of 16 bits

/// What the warps of a cluster send to each of its blocks.
struct Slots {
  float sums[kMostBlocks * kMostWarps];  // of each warp, those of block 0 first
  uint64_t arrived;                      // an mbarrier: it counts the bytes that have arrived
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
  value = warp_sum(value);
#ifdef ONEPASS_CLUSTERS
  namespace ptx = cuda::ptx;
  const auto cluster = cooperative_groups::this_cluster();
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;  // of each block
  const int blocks = gridDim.y;
  // TODO 3: make of this warp's sum that of all warps of the cluster. barrier_wait() until all
  // blocks are ready. Lane b, below blocks, sends the sum to block b, whose slots are at
  // map_shared_rank(&own_slots(), b): st_async() stores it in its place of sums, and adds its bytes
  // to arrived. Wait until mbarrier_try_wait_parity(&own_slots().arrived, 0) says that all have
  // arrived, and add up this block's own sums.
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

/// Thread t of block b of a row has kPacks packs of it, blockDim.x apart.
template <typename T, int V, bool kCluster>
__global__ void __launch_bounds__(kMostThreads)
    rmsnorm_wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int rows, int cols, float eps) {
  constexpr int kPacks = kColumns / V;
  using RowPack = Pack<T, V>;
  RowSum<false> row_sum;
  if (kCluster) {
    begin_cluster();
  }
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  const int packs = row < rows ? cols / V : 0;  // of the row
  const int step = blockDim.x;
  RowPack held[kPacks] = {};

  // TODO 1: the part of this block. Its first pack is number blockIdx.y * kPacks * step of the row,
  // and this thread has packs threadIdx.x, threadIdx.x + step, ... of the part. Load those that are
  // below `packs` into held, and add up their squares in fp32. One thread of the row saves rstd.
  float squares = 0.0f;
  // [solution 1]
  const int first = blockIdx.y * kPacks * step + threadIdx.x;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = first + p * step;
    if (i < packs) {
      held[p] = x_row[i];
    }
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = value_of(held[p], j);
      squares += value * value;
    }
  }
  // [end]
  const float sum = kCluster ? cluster_sum(squares) : row_sum(squares);

  // TODO 1, y: let one thread of the row save rstd, and make the packs of y from held.
  // [solution 1]
  const float row_rstd = rsqrtf(sum / cols + eps);
  if (first == 0 && row < rows) {
    rstd[row] = row_rstd;
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = first + p * step;
    if (i < packs) {
      const RowPack weights = pack_or<V>(weight, i, 1.0f);
      RowPack y_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        y_pack.values[j] = static_cast<T>(value_of(held[p], j) * row_rstd * value_of(weights, j));
      }
      y_row[i] = y_pack;
    }
  }
  // [end]
}

/// How many blocks share a row of so many columns.
inline int blocks_for(int cols) {
  int blocks = 1;
  // TODO 2: as few as hold the row, kColumns columns in each of 512 threads: twice as many until
  // they do, but no more than kMostBlocks.
  // [solution 2]
  while (blocks < kMostBlocks && cols > blocks * kColumns * kMostThreads / 2) {
    blocks *= 2;
  }
  // [end]
  return blocks;
}

/// Bytes of the widest access that suits the tensor's address, its stride and its width.
template <typename T>
uint64_t access_bytes(const T* tensor, int64_t stride, int cols) {
  const uint64_t all = reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T) | cols * sizeof(T);
  return all & -all;
}

template <typename T>
void rmsnorm_wide_rows(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int blocks = has_clusters() ? blocks_for(cols) : 1;
  if (cols > blocks * kColumns * kMostThreads) {
    rmsnorm_plain_rows(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
    return;
  }
  const uint64_t bytes = std::min({uint64_t{16}, access_bytes(x, x_stride, cols),
                                   access_bytes(y, y_stride, cols), access_bytes(weight, 0, cols)});
  with_pack_of<T>(static_cast<int>(bytes), [&](auto columns) {
    constexpr int V = decltype(columns)::value;
    using RowPack = Pack<T, V>;
    constexpr int kPacks = kColumns / V;
    const RowLayout layout = layout_of_rows<RowPack, kPacks>(rows, cols / V, blocks, kMostThreads);
    launch_rows(blocks > 1 ? rmsnorm_wide_kernel<T, V, true> : rmsnorm_wide_kernel<T, V, false>,
                layout, rows, stream, x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
  });
}

}  // namespace onepass

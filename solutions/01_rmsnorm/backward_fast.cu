// Exercise 1.6: RMSNorm backward at the speed of memory, the gradients of x and of the weight in
// one pass.
//
//     dy, x, dx  [rows, cols]    rows dy_stride, x_stride and dx_stride elements apart
//     weight     [cols]
//     rstd       [rows]          fp32, saved by the forward pass
//     dweight    [cols]
//     scratch    [groups, cols]  fp32, contents undefined, groups = rmsnorm_groups(rows)
//
//     x̂ = x * rstd    wdy = weight * dy
//     dx      = rstd * (wdy - x̂ * mean of wdy * x̂ over the row)
//     dweight = sum of dy * x̂ over all rows
//
// One kernel reads dy and x once and makes both. Its blocks are persistent: there are a few for
// each multiprocessor, and each walks through many rows.
//   - dx: rows come through a ring in shared memory, by asynchronous copies. While one is summed,
//     the next ones are on their way. Narrow rows are side by side in a block; a row too wide for
//     one is shared by the blocks of a cluster, where the GPU has clusters (from sm_90 on).
//   - dweight: a thread has the same columns in every row, so it keeps their sums in registers from
//     its first row to its last. Only then do they go to scratch, one row of sums a block (or
//     cluster), and a second kernel adds them up.
//   - Rows that are not aligned to 16 bytes are copied 16 bytes at a time all the same.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.6 Backward, at the speed of memory"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>

#include <cstring>
#include <type_traits>

namespace onepass {

constexpr int kMostWarps = 16;  // of a block
constexpr int kMostThreads = 32 * kMostWarps;
constexpr int kMostBlocks = 8;  // of a cluster: as many as any GPU takes that has clusters
constexpr int kMostStages = 2;  // rows of the ring: more bring nothing
constexpr int kGoodWarps = 16;  // of a multiprocessor: with fewer it has too little to do
/// Columns of a thread, and how many warps a multiprocessor has room for: its registers are shared
/// out among so many, and with more they are spilled. 32 columns are for rows that need them:
/// unaligned ones, for what is done once a thread takes long there, and those too wide for a block
/// with 16. With 16 a thread has registers for its part of the row, too.
constexpr int kFewColumns = 16;
constexpr int kManyColumns = 32;
template <int kColumns>
constexpr int kRoomOfWarps = kColumns == kFewColumns ? 20 : 16;

/// V neighbouring columns, copied, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// A pack's element j. For the second bfloat16 of a word nvcc takes two instructions, unless it is
/// told that the word's upper half is the float: a fifth of all that a thread does here.
template <typename T, int V>
__device__ inline float value_of(const Pack<T, V>& pack, int j) {
  if constexpr (V > 1 && std::is_same_v<T, __nv_bfloat16>) {
    unsigned word;
    memcpy(&word, pack.values + j / 2 * 2, sizeof(word));
    return __uint_as_float(j % 2 == 0 ? word << 16 : word & 0xffff0000);
  } else {
    return static_cast<float>(pack.values[j]);
  }
}

/// The sum of `value` over the lanes of a warp, in every lane (exercise 1.1): over all 32, or over
/// those whose numbers differ in kLanes - 1 only.
template <int kLanes = 32>
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The barrier of a cluster, for what its threads have stored in shared memory, but not in global
/// memory: a cluster.sync() waits for the stores of dx, too, and takes a third of a row's time.
__device__ inline void wait_for_cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#if __CUDACC_VER_MAJOR__ >= 13  // what older ones do not know
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#else
  cooperative_groups::this_cluster().sync();
#endif
#endif
}

/// The sum of `value` over all threads of a row, in every one of them: those that share
/// threadIdx.y, and where kShared those of all blocks of the cluster. Each warp leaves its sum in a
/// slot, and behind one barrier each looks at all slots, in a cluster at those of the other blocks,
/// too. Called for one row after another: `parity` alternates between 0 and 1, so that a warp that
/// is ahead writes to other slots than those that a late warp may still be reading.
template <bool kShared>
__device__ inline float row_sum_of(float value, int parity) {
  __shared__ float partial[2][kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  if (!kShared && warps == 1) {
    return value;  // a row of a single warp waits for nobody
  }
  float* slots = partial[parity] + threadIdx.y * warps;
  if (lane == 0) {
    slots[warp] = value;
  }
  // Lanes 0 to 15 have a slot each, and so have those from 16 on: of the same block, or of another.
  const int other = lane % kMostWarps;
  float sum = 0.0f;
  if (kShared) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
    const auto cluster = cooperative_groups::this_cluster();
    wait_for_cluster();
#pragma unroll
    for (int b = 0; b < kMostBlocks; b += 2) {
      const int block = b + lane / kMostWarps;
      if (block < cluster.num_blocks() && other < warps) {
        sum += cluster.map_shared_rank(slots, block)[other];
      }
    }
    return warp_sum(sum);
#endif
  }
  __syncthreads();
  if (other < warps) {
    sum = slots[other];
  }
  return warp_sum<kMostWarps>(sum);
}

/// x̂ as it counts in dweight (exercise 1.3).
template <typename T>
__device__ inline float x_hat_for_dweight(float x_hat, CastOrder order) {
  return order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
}

/// Stores the sums of a pack's V columns, pack i of a row of sums, 16 bytes at a time.
template <int V>
__device__ inline void store_sums(float* row_of_sums, int i, const float (&sums)[V]) {
  constexpr int kEach = V < 4 ? V : 4;
  for (int j = 0; j < V; j += kEach) {
    Pack<float, kEach> pack;
    for (int k = 0; k < kEach; ++k) {
      pack.values[k] = sums[j + k];
    }
    reinterpret_cast<Pack<float, kEach>*>(row_of_sums)[(i * V + j) / kEach] = pack;
  }
}

/// Unaligned rows are taken column by column, V = 1, and yet copied to the ring 16 bytes at a time:
/// a row begins in its slot as far behind a multiple of 16 bytes as in memory.
template <int V, typename T>
__device__ inline int phase_of(const T* row) {
  return V > 1 ? 0 : reinterpret_cast<uintptr_t>(row) % 16 / sizeof(T);
}
/// So much longer a slot is.
template <typename T, int V>
constexpr int kGap = V > 1 ? 0 : 16 / sizeof(T);

/// The columns of an unaligned row that are whole 16 bytes. Up to seven before and seven behind
/// them are its edges: 16 bytes there would be partly another row's. A thread has one of them.
struct Middle {
  int begin;
  int end;
};

template <typename T>
__device__ inline Middle middle_of(const T* row, int count) {
  constexpr int kEach = 16 / sizeof(T);
  const int gap = (kEach - phase_of<1>(row)) % kEach;
  const int begin = gap < count ? gap : count;
  return {begin, begin + (count - begin) / kEach * kEach};
}

/// This thread's column of the edges. It has none if that is not below count.
template <typename T>
__device__ inline int edge_of(const T* row, int count) {
  const Middle middle = middle_of(row, count);
  const int i = threadIdx.x;
  return i < middle.begin ? i : i - middle.begin + middle.end;
}

template <typename T>
__device__ inline T load_edge(const T* row, int count) {
  const int c = edge_of(row, count);
  return c < count ? row[c] : T{};
}

template <typename T>
__device__ inline void store_edge(T* slot, const T* row, int count, T value) {
  const int c = edge_of(row, count);
  if (c < count) {
    slot[c] = value;
  }
}

/// The first of this thread's packs of V columns. The others are 32 packs further each, so that a
/// warp has 32 * kColumns neighbouring columns.
template <int V, int kColumns>
__device__ inline int first_pack() {
  return threadIdx.x / 32 * (32 * kColumns / V) + threadIdx.x % 32;
}

/// Begins to copy `count` columns of a row to a slot of the ring: each thread those packs that it
/// will read itself, and of an unaligned row its part of the middle. Before sm_80 an asynchronous
/// copy is a load and a store.
template <int V, int kColumns, typename T>
__device__ inline void begin_copy(T* slot, const T* row, int count) {
  if constexpr (V > 1) {
    const int first_i = first_pack<V, kColumns>();
#pragma unroll
    for (int p = 0; p < kColumns / V; ++p) {
      const int i = first_i + p * 32;
      if (i < count / V) {
        __pipeline_memcpy_async(slot + i * V, row + i * V, 16);
      }
    }
  } else {
    constexpr int kEach = 16 / sizeof(T);
    const Middle middle = middle_of(row, count);
#pragma unroll 1
    for (int c = middle.begin + threadIdx.x * kEach; c < middle.end; c += blockDim.x * kEach) {
      __pipeline_memcpy_async(slot + phase_of<V>(row) + c, row + c, 16);
    }
  }
}

/// A row has kColumns columns a thread, and blockDim.x threads in each block of a cluster (where
/// kShared) or in one block. blockDim.y rows are side by side.
template <typename T, int V, int kColumns, bool kShared>
__global__ void __launch_bounds__(32 * kRoomOfWarps<kColumns>)
    ring_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* rstd, T* dx, int64_t dx_stride,
                float* partial,  // [groups, cols]
                CastOrder order, int rows, int cols, int stages) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kColumns / V;
  // Between the row's sum and its dx its packs are held in registers, if there are some left.
  constexpr bool kHeld = V > 1 && kColumns == kFewColumns;
  int blocks = 1;  // of a row
  int rank = 0;    // of this one among them
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();  // the second kernel may begin, and wait
  if (kShared) {
    blocks = cooperative_groups::this_cluster().num_blocks();
    rank = cooperative_groups::this_cluster().block_rank();
  }
#endif
  // The groups, each a block or a cluster, take blockDim.y rows at a time, and this thread one.
  const int group = blockIdx.x / blocks;
  const int step_rows = gridDim.x / blocks * blockDim.y;
  // This block's part of a row: `count` columns from `first` on.
  const int most = blockDim.x * kColumns;
  const int first = rank * most;
  const int count = min(most, max(0, cols - first));
  dy += first;
  x += first;
  weight += first;
  dx += first;

  extern __shared__ float4 ring_memory[];  // [stages][blockDim.y][2][most + kGap], dy before x
  const auto slot_of = [&](int stage, int which) {
    return reinterpret_cast<T*>(ring_memory) +
           ((stage * blockDim.y + threadIdx.y) * 2 + which) * (most + kGap<T, V>);
  };
  const auto begin_row = [&](int stage, int64_t row) {
    begin_copy<V, kColumns>(slot_of(stage, 0), dy + row * dy_stride, count);
    begin_copy<V, kColumns>(slot_of(stage, 1), x + row * x_stride, count);
  };
  // How many rows are on their way. Unaligned ones leave a place to the row before this one, which
  // others may still be reading.
  const int ahead = V > 1 ? stages : stages - 1;

  // TODO 1: fill the ring. Of this thread's rows, group * blockDim.y + threadIdx.y and then every
  // step_rows further, begin to copy the first `ahead`, if they are below rows: begin_row(stage,
  // row). Behind each __pipeline_commit(): a row is a batch. Commit also where there is no row, for
  // the batches are counted.
  // [solution 1]
  for (int stage = 0; stage < ahead; ++stage) {
    const int64_t row = group * blockDim.y + threadIdx.y + stage * step_rows;
    if (row < rows) {
      begin_row(stage, row);
    }
    __pipeline_commit();
  }
  // [end]
  const int first_i = first_pack<V, kColumns>();  // this thread's packs: every 32nd from here on
  RowPack weights[kPacks] = {};                   // of this thread's columns
  float sum_dweight[kPacks][V] = {};              // the same, over this thread's rows
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = first_i + p * 32;
    if (i < count / V) {
      weights[p] = reinterpret_cast<const RowPack*>(weight)[i];
    }
  }
  const float per_column = 1.0f / cols;
  int stage = 0;
  int parity = 0;
  unsigned row = group * blockDim.y + threadIdx.y;  // goes past the last, which may be 2^31 - 2
  float next_rstd = row < rows ? rstd[row] : 0.0f;  // loaded a row ahead: no wait for memory
  T edge_dy = V == 1 && row < rows ? load_edge(dy + row * dy_stride, count) : T{};
  T edge_x = V == 1 && row < rows ? load_edge(x + row * x_stride, count) : T{};
  // All threads of a block take as many steps; in the last one some may have no row.
  for (; row - threadIdx.y < rows; row += step_rows) {
    const int packs = row < rows ? count / V : 0;
    T* dy_slot = slot_of(stage, 0) + phase_of<V>(dy + row * dy_stride);
    T* x_slot = slot_of(stage, 1) + phase_of<V>(x + row * x_stride);
    const RowPack* dy_row = reinterpret_cast<const RowPack*>(dy_slot);  // [packs]
    const RowPack* x_row = reinterpret_cast<const RowPack*>(x_slot);    // [packs]
    const unsigned next = row + step_rows;
    const unsigned later = row + ahead * step_rows;
    const float row_rstd = next_rstd;
    next_rstd = next < rows ? rstd[next] : 0.0f;

    const auto refill = [&](int place) {
      // TODO 1, refill. In a place of the ring that nobody needs any more, begin to copy row
      // `later`, if there is one. Commit in any case.
      // [solution 1]
      if (later < rows) {
        begin_row(place, later);
      }
      __pipeline_commit();
      // [end]
    };

    // TODO 1, wait until this row has landed: __pipeline_wait_prior() for all batches but the last
    // ahead - 1, which are none or one. The number has to be a constant.
    // [solution 1]
    if (ahead > 1) {
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    // [end]
    if (V == 1) {  // what a thread reads was copied by others, and the edges come separately
      if (row < rows && threadIdx.x < 32) {
        store_edge(dy_slot, dy + row * dy_stride, count, edge_dy);
        store_edge(x_slot, x + row * x_stride, count, edge_x);
      }
      __syncthreads();
      refill(stage > 0 ? stage - 1 : stages - 1);  // all have read the row before
      if (next < rows && threadIdx.x < 32) {
        edge_dy = load_edge(dy + next * dy_stride, count);
        edge_x = load_edge(x + next * x_stride, count);
      }
    }
    RowPack held_dy[kPacks];
    RowPack held_x[kPacks];
    if (kHeld) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int i = first_i + p * 32;
        if (i < packs) {
          held_dy[p] = dy_row[i];
          held_x[p] = x_row[i];
        }
      }
      refill(stage);  // no barrier is needed, for each thread reads only what it has copied itself
    }
    float wdy_hat = 0.0f;
    // Most threads have all of their packs. They do not ask at each, so that nvcc loads ahead.
    const auto sum_up = [&](bool has_all) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int i = first_i + p * 32;
        if (has_all || i < packs) {
          const RowPack dy_pack = kHeld ? held_dy[p] : dy_row[i];
          const RowPack x_pack = kHeld ? held_x[p] : x_row[i];
#pragma unroll
          for (int j = 0; j < V; ++j) {
            const float dy_value = value_of(dy_pack, j);
            const float x_hat = value_of(x_pack, j) * row_rstd;
            // TODO 1, the sum of dx: add wdy * x̂ to wdy_hat. The weights are in weights[p].
            // [solution 1]
            const float wdy = value_of(weights[p], j) * dy_value;
            wdy_hat += wdy * x_hat;
            // [end]
            // TODO 2: dweight, first stage. Add dy * x̂ to sum_dweight[p][j], with x̂ as
            // x_hat_for_dweight<T>(x̂, order) gives it.
            // [solution 2]
            sum_dweight[p][j] += dy_value * x_hat_for_dweight<T>(x_hat, order);
            // [end]
          }
        }
      }
    };
    const bool has_all = first_i + (kPacks - 1) * 32 < packs;
    has_all ? sum_up(true) : sum_up(false);

    // TODO 1, dx. Call row_sum_of<kShared>() with parity for the sum over the row, and multiply by
    // per_column. Then walk over the packs again and store dx.
    // [solution 1]
    const float mean_wdy_hat = row_sum_of<kShared>(wdy_hat, parity) * per_column;
    const float slope = mean_wdy_hat * row_rstd;
    RowPack* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
    const auto store = [&](bool has_all) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int i = first_i + p * 32;
        if (has_all || i < packs) {
          const RowPack dy_pack = kHeld ? held_dy[p] : dy_row[i];
          const RowPack x_pack = kHeld ? held_x[p] : x_row[i];
          RowPack dx_pack;
#pragma unroll
          for (int j = 0; j < V; ++j) {
            const float wdy = value_of(weights[p], j) * value_of(dy_pack, j);
            dx_pack.values[j] = static_cast<T>((wdy - value_of(x_pack, j) * slope) * row_rstd);
          }
          dx_row[i] = dx_pack;
        }
      }
    };
    has_all ? store(true) : store(false);
    // [end]

    if (V > 1 && !kHeld) {
      refill(stage);
    }
    stage = stage + 1 < stages ? stage + 1 : 0;
    parity ^= 1;
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (kShared) {
    cooperative_groups::this_cluster().sync();  // the others have read this block's memory
  }
#endif

  // TODO 2, continued: the last row is done. Rows side by side have summed for themselves, so their
  // sums meet in the ring, which is free after a barrier. Store sum_dweight[p] in row threadIdx.y
  // of meet, each pack p: store_sums() does it for one, number first_i + p * 32. After another
  // barrier let the threads of the block share its columns, those below count: add up the
  // blockDim.y sums of a column in their order, and store the sum in row `group` of partial, where
  // this block's columns begin at `first`.
  float* meet = reinterpret_cast<float*>(ring_memory);  // [blockDim.y, most]
  // [solution 2]
  __syncthreads();
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    store_sums(meet + threadIdx.y * most, first_i + p * 32, sum_dweight[p]);
  }
  __syncthreads();
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (int c = thread; c < count; c += blockDim.x * blockDim.y) {
    float sum = meet[c];
    for (int y = 1; y < blockDim.y; ++y) {
      sum += meet[y * most + c];
    }
    partial[static_cast<int64_t>(group) * cols + first + c] = sum;
  }
  // [end]
}

// Rows that do not fit into the ring take two kernels, as in 1.3, but with packs: rows of more than
// 65,536 columns, and where a GPU has no clusters, or less shared memory, narrower ones.

/// One block a row, which is read twice.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* rstd, T* dx, int64_t dx_stride, int cols) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const float row_rstd = rstd[row];
  const RowPack* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const RowPack* weights = reinterpret_cast<const RowPack*>(weight);
  RowPack* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
  // TODO 4: dx of a wide row: as in 1.3, but pack by pack, of which there are cols / V. The parity
  // of a single row is 0.
  // [solution 4]
  float wdy_hat = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack weight_pack = weights[i];
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
      wdy_hat += wdy * (static_cast<float>(x_pack.values[j]) * row_rstd);
    }
  }
  const float mean_wdy_hat = row_sum_of<false>(wdy_hat, 0) / cols;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack weight_pack = weights[i];
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    RowPack dx_pack;
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
      const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
      dx_pack.values[j] = static_cast<T>((wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
    dx_row[i] = dx_pack;
  }
  // [end]
}

/// First stage of dweight: one thread for each pack of columns of each group of rows. Group g has
/// the rows g, g + groups, g + 2 * groups, ...
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                         const float* rstd,
                         float* partial,  // [groups, cols]
                         CastOrder order, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // the pack
  const int group = blockIdx.y;
  const int groups = gridDim.y;
  // TODO 4, continued: dweight, first stage. If there is such a pack, add up dy * x̂ of its columns
  // over the group's rows, and store_sums() in the group's row of partial.
  // [solution 4]
  if (i < cols / V) {
    float sums[V] = {};
    for (int64_t row = group; row < rows; row += groups) {
      const auto dy_pack = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride)[i];
      const auto x_pack = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride)[i];
      const float row_rstd = rstd[row];
      for (int j = 0; j < V; ++j) {
        const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
        sums[j] += static_cast<float>(dy_pack.values[j]) * x_hat_for_dweight<T>(x_hat, order);
      }
    }
    store_sums(partial + static_cast<int64_t>(group) * cols, i, sums);
  }
  // [end]
}

constexpr int kSumCols = 32;    // columns of a block of sum_groups_kernel
constexpr int kSumSlices = 32;  // its threads for each pack of them, at most
constexpr int kSumBatch = 5;    // groups whose sums a thread loads at a time

/// Second stage: adds up the groups' sums. Thread (i, s) takes groups s, s + blockDim.y, ... of
/// pack i of its block's 32 columns; the slices meet in shared memory. It may be launched before
/// the kernel in front of it has ended, and waits for it.
template <typename T, int V>
__global__ void sum_groups_kernel(const float* partial,  // [groups, cols]
                                  T* dweight, int groups, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const int slice = threadIdx.y;
  const int first = blockIdx.x * kSumCols;
  const int col = first + threadIdx.x * V;
  // TODO 2, second stage. Add up the partial sums of this thread's columns, if they are there, over
  // groups slice, slice + blockDim.y, ... below groups. Let the slices of a column meet in a
  // __shared__ array [kSumSlices][kSumCols]. After a barrier let one thread for each column that is
  // there add up its blockDim.y sums, in order, and store what that makes in dweight, converted to
  // T.
  // [solution 2]
  __shared__ Pack<float, V> slices[kSumSlices][kSumCols / V];
  Pack<float, V> sum = {};
  for (int batch = slice; col < cols && batch < groups; batch += kSumBatch * blockDim.y) {
#pragma unroll
    for (int k = 0; k < kSumBatch; ++k) {
      const int group = batch + k * blockDim.y;
      if (group < groups) {
        const float* sums = partial + static_cast<int64_t>(group) * cols + col;
        const auto pack = *reinterpret_cast<const Pack<float, V>*>(sums);
        for (int j = 0; j < V; ++j) {
          sum.values[j] += pack.values[j];
        }
      }
    }
  }
  slices[slice][threadIdx.x] = sum;
  __syncthreads();
  const int c = slice * blockDim.x + threadIdx.x;  // of the block's columns
  if (c < kSumCols && first + c < cols) {
    float total = 0.0f;
#pragma unroll 8
    for (int other = 0; other < blockDim.y; ++other) {
      total += slices[other][c / V].values[c % V];
    }
    dweight[first + c] = static_cast<T>(total);
  }
  // [end]
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
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

/// How rows lie on the GPU: `blocks` blocks have one (a cluster), each of them `warps` warps of it;
/// `side` rows are side by side in a block, and a multiprocessor has `each` blocks.
struct Layout {
  int blocks;
  int warps;
  int side;
  int each;
};

template <int kColumns>
Layout layout_for(int cols, int most_columns) {
  int blocks = 1;
  // TODO 4, at last: if attribute(cudaDevAttrClusterLaunch) is not 0, double blocks until they have
  // cols columns, most_columns each, or are kMostBlocks.
  // [solution 4]
  while (attribute(cudaDevAttrClusterLaunch) != 0 && blocks * most_columns < cols &&
         blocks < kMostBlocks) {
    blocks *= 2;
  }
  // [end]
  const int columns = blocks * 32 * kColumns;  // of a warp of each
  const int warps = (cols + columns - 1) / columns;
  const int wanted = (kGoodWarps + warps - 1) / warps;  // rows of a multiprocessor
  const int at_once = max(1, min(wanted, kRoomOfWarps<kColumns> / warps));
  const int side = at_once > 3 ? at_once / 2 : 1;
  return {blocks, warps, side, at_once / side};
}

/// How many rows the ring of a block may have, if `each` blocks share a multiprocessor. Of the
/// shared memory 2 KB a block are for the slots of row_sum_of(), and for CUDA itself.
inline int stages_for(int each, int64_t stage_bytes) {
  const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) / each - 2048;
  const int64_t stages = room / stage_bytes;
  return stages < kMostStages ? static_cast<int>(stages) : kMostStages;
}

/// Makes dx, and rows of partial sums in scratch. Gives back how many.
template <typename T, int V, int kColumns>
int launch_rows(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* rstd, T* dx, int64_t dx_stride, float* scratch, CastOrder order,
                int rows, int cols, cudaStream_t stream) {
  // A block takes as long a row as its registers and its shared memory, 32 KB a tensor, have room
  // for: the barrier of a cluster takes longer.
  constexpr int kMostColumns = kMostThreads * (sizeof(T) == 2 ? kColumns : kFewColumns);
  Layout layout = layout_for<kColumns>(cols, kMostColumns);
  const int64_t slot = 32 * kColumns * static_cast<int64_t>(layout.warps) + kGap<T, V>;
  const int64_t stage_bytes = 2 * layout.side * slot * sizeof(T);  // dy and x
  const int least_stages = V > 1 ? 1 : 2;
  if (stages_for(layout.each, stage_bytes) < least_stages) {
    layout.each = 1;  // a GPU with less shared memory
  }
  const int stages = stages_for(layout.each, stage_bytes);
  if (layout.warps <= kMostWarps && stages >= least_stages) {
    const auto kernel =
        layout.blocks > 1 ? ring_kernel<T, V, kColumns, true> : ring_kernel<T, V, kColumns, false>;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(layout.blocks), 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = layout.blocks;
    config.blockDim = dim3(32 * layout.warps, layout.side);
    config.dynamicSmemBytes = stages * stage_bytes;
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = layout.blocks > 1 ? 1 : 0;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(config.dynamicSmemBytes));
    // As many groups, each a block or a cluster, as fit on the GPU at once. A cluster has to fit
    // into a part of it, so that some multiprocessors may stay without.
    int most = attribute(cudaDevAttrMultiProcessorCount) * layout.each / layout.blocks;
    if (layout.blocks > 1) {
      int clusters = 0;
      cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
      most = clusters < most ? clusters : most;
    }
    const int wanted = rmsnorm_groups((rows - 1) / layout.side + 1);
    const int groups = most < wanted ? most : wanted;
    if (groups > 0) {
      config.gridDim = groups * layout.blocks;
      cudaLaunchKernelEx(&config, kernel, dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                         scratch, order, rows, cols, stages);
      return groups;
    }
  }
  constexpr int kMostGroups = 64;  // there are many blocks for each: the rows are wide
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int pack_blocks = (cols / V + kMostThreads - 1) / kMostThreads;
  wide_dx_kernel<T, V><<<rows, kMostThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd,
                                                          dx, dx_stride, cols);
  wide_sum_rows_kernel<T, V><<<dim3(pack_blocks, groups), kMostThreads, 0, stream>>>(
      dy, dy_stride, x, x_stride, rstd, scratch, order, rows, cols);
  return groups;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols) &&
                       is_aligned(weight, 0, cols) && is_aligned(dx, dx_stride, cols);
  constexpr int V = 16 / sizeof(T);
  constexpr int kOfWide = sizeof(T) == 2 ? kManyColumns : kFewColumns;
  const auto launch = !aligned                             ? launch_rows<T, 1, kManyColumns>
                      : cols <= kMostThreads * kFewColumns ? launch_rows<T, V, kFewColumns>
                                                           : launch_rows<T, V, kOfWide>;
  const int groups = rows == 0 ? 0
                               : launch(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                                        scratch, order, rows, cols, stream);
  // Also where there are no rows: the sums over none of them are zero. From sm_90 on a kernel may
  // be launched while the one before it ends, which hides the time that a launch takes.
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = (cols + kSumCols - 1) / kSumCols;
  const int pack = cols % 4 == 0 ? 4 : 1;
  // No more slices than groups, for of wide rows there are few, and many columns; but a thread for
  // each column.
  config.blockDim = dim3(kSumCols / pack, min(max(groups, pack), kSumSlices));
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = attribute(cudaDevAttrComputeCapabilityMajor) >= 9 ? 1 : 0;
  cudaLaunchKernelEx(&config, pack == 4 ? sum_groups_kernel<T, 4> : sum_groups_kernel<T, 1>,
                     static_cast<const float*>(scratch), dweight, groups, cols);
}

}  // namespace onepass

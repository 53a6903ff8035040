// Given device code, continued: what the backward passes (1.6, 2.6) are built of. Their blocks are
// persistent: as few as keep the GPU busy, each of which takes many rows. Read onepass/fast.h
// first.
//
//   1. for_packs    a loop over the packs that a thread has of a row
//   2. RowSums      two sums over a row, for one row after another
//   3. Ring         the next rows, in flight while this one is summed
//   4. launch_early the next kernel, launched while this one runs
//   5. with_shape, launch_groups   how many columns, warps, rows and blocks
#pragma once

#include <cuda_pipeline.h>
#include <onepass/fast.h>

namespace onepass {

constexpr int kMostRowWarps = 16;  // of a block that share a row: half a warp looks at their sums

// ---- 1. for_packs -----------------------------------------------------------------------------

/// body(p, i) for each of a thread's packs: number i = first + 32 p, below end. Most threads have
/// all of theirs and do not check each, so that nvcc loads ahead: 92 instead of 84 % of a copy.
template <int kPacks, typename Body>
__device__ inline void for_packs(int first, int end, Body body) {
  if (first + (kPacks - 1) * 32 < end) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      body(p, first + p * 32);
    }
  } else {
#pragma unroll
    for (int p = 0; p < kPacks - 1; ++p) {
      if (first + p * 32 < end) {
        body(p, first + p * 32);
      }
    }
  }
}

// ---- 2. Two sums over a row -------------------------------------------------------------------
//
// After one shuffle the lower half of a warp has one sum and the upper half the other: six shuffles
// for both, not ten. Each warp leaves its sums in slots, and behind one barrier each looks at all
// of them. The slots alternate from row to row: a warp that is ahead by one row does not write to
// those that a late one may still read. None is ahead by two, for the barrier needs all warps.
//
//     RowSums<kCluster> row_sums;
//     const float2 sums = row_sums({first, second});  // by all threads of the block, for each row

/// A cluster's barrier for what is in shared memory. cluster.sync() waits for the stores of dx to
/// global memory, too, and takes a third of a row's time.
__device__ inline void wait_for_cluster() {
#ifdef ONEPASS_CLUSTERS
#if __CUDACC_VER_MAJOR__ >= 13  // older ones do not know it
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#else
  cooperative_groups::this_cluster().sync();
#endif
#endif
}

template <bool kCluster>
class RowSums {
 public:
  /// Both sums over all threads of the row, in each of them.
  __device__ float2 operator()(float2 values) {
    __shared__ float slots[2][2 * kMostRowWarps];
    const int lane = threadIdx.x % 32;
    const int warps = blockDim.x / 32;
    const bool upper = lane >= 16;
    float sum = upper ? values.y : values.x;
    sum = half_warp_sum(sum + __shfl_xor_sync(0xffffffff, upper ? values.x : values.y, 16));
    if (kCluster || warps > 1) {  // a row of a single warp needs no barrier
      float* of_row = slots[parity_] + 2 * threadIdx.y * warps + (upper ? warps : 0);
      if (lane % 16 == 0) {
        of_row[threadIdx.x / 32] = sum;
      }
      kCluster ? wait_for_cluster() : __syncthreads();
      sum = half_warp_sum(lane % 16 < warps ? sum_of_blocks(of_row + lane % 16) : 0.0f);
      parity_ ^= 1;
    }
    return {__shfl_sync(0xffffffff, sum, 0), __shfl_sync(0xffffffff, sum, 16)};
  }

  /// No block ends while another may still read its slots.
  __device__ ~RowSums() {
    if (kCluster) {
      wait_for_cluster();
    }
  }

 private:
  __device__ static float half_warp_sum(float value) {
#pragma unroll
    for (int offset = 8; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
  }
  /// What is in a slot, and in the same one of the other blocks of the cluster.
  __device__ static float sum_of_blocks(float* slot) {
#ifdef ONEPASS_CLUSTERS
    if constexpr (kCluster) {
      const auto cluster = cooperative_groups::this_cluster();
      float sum = 0.0f;
#pragma unroll
      for (int block = 0; block < kMostBlocks; ++block) {
        if (block < cluster.num_blocks()) {
          sum += *cluster.map_shared_rank(slot, block);
        }
      }
      return sum;
    }
#endif
    return *slot;
  }
  int parity_ = 0;
};

// ---- 3. The ring ------------------------------------------------------------------------------
//
// A block that sums a row and then loads the next has nothing in flight meanwhile. An asynchronous
// copy goes past the registers to shared memory, and the thread does not wait for it. The ring has
// one slot or two, each for a row of dy and of x. __pipeline_commit() closes a batch of copies, and
// batches land in order. A thread reads only what it has copied itself: no barrier.
//
//     ring.begin_copy(slot, row);                        // before the loop: a row for each slot
//     __pipeline_commit();
//     for (each row) {
//       __pipeline_wait_prior(slots - 1);                // this row has landed
//       ring.take(slot, row);                            // ring.dy(p) and ring.x(p) are its packs
//       ring.begin_copy(slot, row + slots * ring.step);  // when the slot is free
//       __pipeline_commit();
//     }
//
// kHeld: a row moves to registers when it is taken, and its slot is free at once. Otherwise it
// stays in its slot, which is free only after dx.
//
// A copy has 4 bytes or more. Unaligned rows of 16 bits are copied 16 bytes at a time all the same,
// from their first multiple of 16 bytes on, and lie as far behind one in their slot. The up to
// seven columns at either end go through a register. Then a thread reads what others have copied,
// which takes a barrier per row; behind it the slot of the row before is free.

/// Copies to shared memory are a fifth slower if they begin between two multiples of 128 bytes.
struct alignas(128) Line {
  char bytes[128];
};

template <typename T, int V, int kPacks, bool kHeld>
class Ring {
 public:
  using RowPack = Pack<T, V>;
  static constexpr bool kOwn = sizeof(RowPack) >= 4;  // a thread reads what it has copied itself
  static constexpr bool kFreeAtOnce = kHeld || !kOwn;
  static constexpr int kEach = 16 / sizeof(T);
  static constexpr int kGap = kOwn ? 0 : kEach;  // so much longer a slot is

  unsigned first_row;  // of this thread: first_row, first_row + step, ...
  int step;
  int first;             // its packs of a row: first, first + 32, ... below end(row)
  int64_t first_column;  // of the part of a row that this block has

  __device__ Ring(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, int rows, int cols)
      : tensors_{dy, x}, strides_{dy_stride, x_stride}, rows_(rows) {
    const int most = blockDim.x * kPacks;  // packs of a block
    first_row = blockIdx.x * blockDim.y + threadIdx.y;
    step = gridDim.x * blockDim.y;
    first = threadIdx.x / 32 * 32 * kPacks + threadIdx.x % 32;
    first_column = static_cast<int64_t>(blockIdx.y) * most * V;
    packs_ = min(most, max(0, cols / V - static_cast<int>(blockIdx.y) * most));
  }

  __device__ int end(unsigned row) const { return row < rows_ ? packs_ : 0; }

  /// Begins to copy this thread's packs of a row into a slot, if there is such a row.
  __device__ void begin_copy(int slot, unsigned row) {
    if (row >= rows_) {
      return;
    }
#pragma unroll
    for (int tensor = 0; tensor < 2; ++tensor) {
      const T* from = row_of(tensor, row);
      T* to = memory() + offset(kOwn ? slot : 1 - taken_, tensor, from);
      if constexpr (kOwn) {
#pragma unroll
        for (int p = 0; p < kPacks; ++p) {
          if (const int i = first + p * 32; i < packs_) {
            __pipeline_memcpy_async(to + i * V, from + i * V, sizeof(RowPack));
          }
        }
      } else {
        const int begin = edge(from);
        const int end = begin + (packs_ - begin) / kEach * kEach;
#pragma unroll 1
        for (int c = begin + threadIdx.x * kEach; c < end; c += blockDim.x * kEach) {
          __pipeline_memcpy_async(to + c, from + c, 16);
        }
        if (const int c = edge_column(from); threadIdx.x < 32 && c < packs_) {
          edge_[tensor] = from[c];
        }
      }
    }
  }

  /// Takes the row that has landed in a slot.
  __device__ void take(int slot, unsigned row) {
    taken_ = kOwn ? slot : 1 - taken_;
    for (int tensor = 0; tensor < 2; ++tensor) {
      const T* from = row_of(tensor, row);
      landed_[tensor] = offset(taken_, tensor, from);
      if constexpr (!kOwn) {
        if (const int c = edge_column(from); threadIdx.x < 32 && c < end(row)) {
          memory()[landed_[tensor] + c] = edge_[tensor];
        }
      }
    }
    if (!kOwn) {
      __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < (kHeld ? kPacks : 0); ++p) {
      if (first + p * 32 < end(row)) {
        held_[0][p] = landed(0, p);
        held_[1][p] = landed(1, p);
      }
    }
  }

  /// This thread's pack p of the row taken last.
  __device__ RowPack dy(int p) const {
    return pack(0, p);
  }
  __device__ RowPack x(int p) const {
    return pack(1, p);
  }

  __device__ static T* memory() {
    extern __shared__ Line ring_memory[];  // [slots][blockDim.y][2][blockDim.x * kPacks * V + kGap]
    return reinterpret_cast<T*>(ring_memory);
  }

 private:
  __device__ const T* row_of(int tensor, unsigned row) const {
    return tensors_[tensor] + row * strides_[tensor] + first_column;
  }
  __device__ static int phase(const T* from) {
    return kOwn ? 0 : reinterpret_cast<uintptr_t>(from) % 16 / sizeof(T);
  }
  /// How many columns are before the first multiple of 16 bytes; and the one that this thread has
  /// of those before and behind the whole 16 bytes: none if it is not below packs_.
  __device__ int edge(const T* from) const {
    return min(packs_, (kEach - phase(from)) % kEach);
  }
  __device__ int edge_column(const T* from) const {
    const int thread = threadIdx.x;
    return thread + (thread < edge(from) ? 0 : (packs_ - edge(from)) / kEach * kEach);
  }
  __device__ static int offset(int slot, int tensor, const T* from) {
    const int most = blockDim.x * kPacks * V + kGap;
    return ((slot * blockDim.y + threadIdx.y) * 2 + tensor) * most + phase(from);
  }
  __device__ RowPack landed(int tensor, int p) const {
    return reinterpret_cast<const RowPack*>(memory() + landed_[tensor])[first + p * 32];
  }
  __device__ RowPack pack(int tensor, int p) const {
    if constexpr (kHeld) {
      return held_[tensor][p];
    }
    return landed(tensor, p);
  }
  const T* tensors_[2];
  int64_t strides_[2];
  unsigned rows_;
  int packs_, taken_ = 1, landed_[2];
  T edge_[2];
  RowPack held_[2][kHeld ? kPacks : 1];
};

/// Stores the V sums of pack i in a row of sums, 16 bytes at a time.
template <int V>
__device__ inline void store_sums(float* row, int i, const float (&sums)[V]) {
  constexpr int kOnce = V < 4 ? V : 4;
#pragma unroll
  for (int j = 0; j < V; j += kOnce) {
    Pack<float, kOnce> pack;
    memcpy(&pack, sums + j, sizeof(pack));
    *reinterpret_cast<Pack<float, kOnce>*>(row + i * V + j) = pack;
  }
}

// ---- 4. Kernels that begin early --------------------------------------------------------------
//
// From sm_90 on a kernel may be launched while the one before it runs, which hides the 2 to 3 us of
// a launch. It has to wait before it reads what that one stores.

__device__ inline void let_next_kernel_begin() {
#ifdef ONEPASS_CLUSTERS
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ inline void wait_for_kernel_before() {
#ifdef ONEPASS_CLUSTERS
  cudaGridDependencySynchronize();
#endif
}

template <typename... Parameters, typename... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                  Arguments... arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = has_clusters() ? 1 : 0;  // the same GPUs
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

// ---- 5. Launches ------------------------------------------------------------------------------

/// Packs of kV columns, kC columns per thread, for rows shared by so many blocks (a cluster).
template <typename T, int kV, int kC>
struct Shape {
  static constexpr int V = kV, kColumns = kC;
  static constexpr int kMostWarps = kC == 16 ? 20 : 16;  // of an SM: more spill registers
  int cols, blocks;
  int warps = (cols - 1) / (blocks * 32 * kC) + 1;              // of a block, for a row
  int at_once = min((15 + warps) / warps, kMostWarps / warps);  // rows of an SM
  int side = at_once > 3 ? at_once / 2 : 1;                     // rows side by side in a block
  int resident = warps > kMostRowWarps ? 0 : at_once / side;    // blocks of an SM

  int bytes_in_flight() const { return side * resident * (cols / blocks) * sizeof(T); }
};

template <typename T>
constexpr int kMostColumns = 32 * kMostRowWarps*(sizeof(T) == 2 ? 32 : 16);  // of a block

/// launch(shape) with the shape for such rows. With 16 columns a thread has registers for its part
/// of the row, too. If that leaves an SM too few bytes in flight, it has 24 or 32, in fewer warps.
template <typename T, typename Launch>
int with_shape(bool aligned, int cols, int blocks, int enough_bytes, Launch launch) {
  constexpr int V = 16 / sizeof(T);
  if constexpr (sizeof(T) == 4) {
    return aligned ? launch(Shape<T, V, 16>{cols, blocks}) : launch(Shape<T, 1, 16>{cols, blocks});
  } else {
    const Shape<T, V, 16> few{cols, blocks};
    const Shape<T, V, 24> more{cols, blocks};
    if (!aligned) {
      return launch(Shape<T, 1, 32>{cols, blocks});
    }
    if (few.bytes_in_flight() >= enough_bytes || few.warps == 1) {
      return launch(few);
    }
    return more.bytes_in_flight() >= enough_bytes ? launch(more)
                                                  : launch(Shape<T, V, 32>{cols, blocks});
  }
}

/// Launches kernel(arguments..., slots) with as many groups as fit on the GPU at once. Returns how
/// many: 0 if this GPU has no room for a row.
template <typename T, int V, int C, typename... Parameters, typename... Arguments>
int launch_groups(void (*kernel)(Parameters...), Shape<T, V, C> shape, int rows, int most_groups,
                  cudaStream_t stream, Arguments... arguments) {
  using RowRing = Ring<T, V, C / V, false>;
  const int slot_bytes = 2 * shape.side * (shape.warps * 32 * C + RowRing::kGap) * sizeof(T);
  const int least = RowRing::kOwn ? 1 : 2;    // slots, of which least - 1 hold the row before
  const auto slots_for = [&](int resident) {  // two, if there is room: more gain nothing
    const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) / max(resident, 1) - 3072;
    return min(2, room / slot_bytes);
  };
  if (slots_for(shape.resident) < least) {
    shape.resident = 1;  // a GPU with less shared memory
  }
  const int slots = slots_for(shape.resident);
  if (rows == 0 || shape.resident == 0 || slots < least) {
    return 0;
  }
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, static_cast<unsigned>(shape.blocks), 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1, shape.blocks);
  config.blockDim = dim3(32 * shape.warps, shape.side);
  config.dynamicSmemBytes = slots * slot_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = shape.blocks > 1 ? 1 : 0;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, slots * slot_bytes);
  int groups = attribute(cudaDevAttrMultiProcessorCount) * shape.resident;
  if (shape.blocks > 1) {  // a cluster has to lie in one part of the GPU, so that fewer may fit
    cudaOccupancyMaxActiveClusters(&groups, kernel, &config);
  }
  config.gridDim.x = min(groups, min(most_groups, (rows - 1) / shape.side + 1));
  if (config.gridDim.x > 0) {
    cudaLaunchKernelEx(&config, kernel, arguments..., slots - least + 1);
  }
  return config.gridDim.x;
}

}  // namespace onepass

// Given device code: what the fast exercises are built of. Read it once, from top to bottom. Each
// part begins with its reason, its price and an example.
//
//   1. Pack        several columns in one access              1.4 and all others
//   2. RowSum      a sum over the threads that share a row    1.4, 1.5, 1.7, 2.5
//   3. Share       which packs of which row a thread has      1.4, 1.5, 1.7, 2.5
//   4. launch_rows how many threads and blocks a row gets     1.4, 1.5, 1.7, 2.5
//
// onepass/ring.h continues with what the backward passes (1.6, 2.6) need. You may copy any part of
// it into your file under another name and change it.
#pragma once

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

// Clusters: blocks that run at the same time and reach each other's shared memory. GPUs have them
// from compute capability 9.0 on. The functions used here need CUDA 12.4.
#if __has_include(<cuda/ptx>) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
#define ONEPASS_CLUSTERS
#include <cuda/ptx>
#endif

namespace onepass {

constexpr int kMostWarps = 32;  // of a block
constexpr int kMostBlocks = 8;  // of a cluster: every GPU with clusters takes eight

// ---- 1. Packs ---------------------------------------------------------------------------------
//
// Memory is 600 to 800 ns away. To keep it busy, an H200 needs some 30 KB in flight on each
// multiprocessor (SM). A thread that loads 16 bytes per access has eight times as much in flight as
// one that loads 2, and needs an eighth of the instructions. The price is alignment.
//
//     const auto* packs = reinterpret_cast<const Pack<T, 8>*>(row);  // row: aligned to 16 bytes
//     const Pack<T, 8> pack = packs[i];                              // columns 8 i to 8 i + 7
//     const float value = value_of(pack, j);                         // column 8 i + j
//
// To change a pack, fill a new one and store it at once. Two 16-bit elements share a register: an
// assignment to one of them makes nvcc take the register apart, and kernels 20 to 50 % slower.

/// V neighbouring columns: one access of V * sizeof(T) bytes, at a multiple of as many.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// Element j of a pack as a float, from the word that it shares with its neighbour. (The upper half
/// of a word is a float already if it is a bfloat16, and the lower half is one shift away.)
template <typename T, int V>
__device__ inline float value_of(const Pack<T, V>& pack, int j) {
  if constexpr (V > 1 && sizeof(T) == 2) {
    uint32_t word;
    memcpy(&word, pack.values + j / 2 * 2, sizeof(word));
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      return __uint_as_float(j % 2 == 0 ? word << 16 : word & 0xffff0000);
    } else {
      __half2 pair;
      memcpy(&pair, &word, sizeof(pair));
      return j % 2 == 0 ? __low2float(pair) : __high2float(pair);
    }
  } else {
    return static_cast<float>(pack.values[j]);
  }
}

/// V times the same value.
template <typename T, int V>
__device__ inline Pack<T, V> pack_of(float value) {
  const T element = static_cast<T>(value);
  Pack<T, V> pack;
  for (int j = 0; j < V; ++j) {
    pack.values[j] = element;
  }
  return pack;
}

/// Pack i of a vector of weights, or a pack of `otherwise` if there are none. kGiven: there are
/// weights, and the null pointer is not checked for.
template <bool kGiven, int V, typename T>
__device__ inline Pack<T, V> pack_or(const T* weights, int i, float otherwise) {
  return kGiven || weights != nullptr ? reinterpret_cast<const Pack<T, V>*>(weights)[i]
                                      : pack_of<T, V>(otherwise);
}

// ---- 2. Sums over a row -----------------------------------------------------------------------
//
// The threads of a row are those with the same threadIdx.y. How they meet depends on their number:
//
//   - Up to 32: shuffles. Rows of fewer than 32 threads share a warp. No barrier.
//   - Whole warps of a block: the warps' sums meet in shared memory, behind one __syncthreads().
//   - Whole warps of several blocks, a cluster: each warp stores its sum in the shared memory of
//     every block, and each block waits until all sums have arrived. That takes about a
//     microsecond. The sender does not wait, and its other loads and stores stay in flight.
//
//     RowSum<false> row_sum;               // by all threads, at the top of the kernel
//     const float sum = row_sum(squares);  // by all threads, also by those without a row
//
// A kernel may take two sums, one after the other: each has slots of its own.

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, apart);
  }
  return value;
}

template <bool kCluster>
class RowSum {
 public:
  __device__ RowSum() : slots_(slots_of_block()) {
    if constexpr (kCluster) {
#ifdef ONEPASS_CLUSTERS
      // A barrier in shared memory that counts bytes: 4 for the sum of each warp.
      if (threadIdx.x == 0) {
        namespace ptx = cuda::ptx;
        for (uint64_t& arrived : slots_.arrived) {
          ptx::mbarrier_init(&arrived, 1);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        for (uint64_t& arrived : slots_.arrived) {
          ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                         &arrived, 4u * gridDim.y * (blockDim.x / 32));
        }
      }
      // The other blocks may send when they know that these barriers are ready. "relaxed" does not
      // wait for loads and stores in flight, as cluster.barrier_arrive() would.
      asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
    }
  }

  /// The sum of `value` over all threads of the row, in each of them.
  __device__ float operator()(float value) {
    const int which = used_++;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    if (!kCluster && blockDim.x <= 32) {
      for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
      }
      return value;
    }
    value = warp_sum(value);
    float* sums = slots_.sums[which] + threadIdx.y * warps;
    if constexpr (kCluster) {
#ifdef ONEPASS_CLUSTERS
      namespace ptx = cuda::ptx;
      const auto cluster = cooperative_groups::this_cluster();
      const int blocks = gridDim.y;
      if (which == 0) {
        cluster.barrier_wait();  // all barriers are ready
      }
      if (lane < blocks) {  // lane b sends to block b
        Slots& there = *cluster.map_shared_rank(&slots_, lane);
        ptx::st_async(&there.sums[which][blockIdx.y * warps + warp], value, &there.arrived[which]);
      }
      while (!ptx::mbarrier_try_wait_parity(&slots_.arrived[which], 0)) {
      }
      value = 0.0f;
      for (int i = lane; i < blocks * warps; i += 32) {
        value += sums[i];
      }
      return warp_sum(value);
#endif
    } else {
      if (lane == 0) {
        sums[warp] = value;
      }
      __syncthreads();
    }
    return warp_sum(lane < warps ? sums[lane] : 0.0f);
  }

 private:
  struct Slots {
    float sums[2][(kCluster ? kMostBlocks : 1) * kMostWarps];  // first and second sum, per warp
    uint64_t arrived[kCluster ? 2 : 1];
  };
  __device__ static Slots& slots_of_block() {
    __shared__ Slots slots;
    return slots;
  }
  Slots& slots_;
  int used_ = 0;
};

// ---- 3. Which packs a thread has --------------------------------------------------------------
//
// Neighbouring lanes have neighbouring packs: a warp's access is one piece of memory. kPacks is a
// constant, so that loops over p are unrolled and `held` is in registers.
//
//     const Share<Pack<T, V>, kPacks> my(rows, cols / V);
//     Pack<T, V> held[kPacks] = {};
//     my.for_packs([&](int p, int i) { held[p] = x_row[i]; });  // this thread's pack p is pack i

/// A thread's packs of a row, at most kPacks. A thread without a row has none. kCluster: gridDim.y
/// blocks share the row, and each has blockDim.x * kPacks packs of it.
template <typename RowPack, int kPacks, bool kCluster = false>
struct Share {
  int64_t row;
  int first, end;  // pack p is number first + p * step(), if that is below `end`
  bool leads;      // true in one thread of each row, which saves rstd

  __device__ Share(int rows, int packs)
      : row(static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y),
        first((kCluster ? blockIdx.y * blockDim.x * kPacks : 0) + threadIdx.x),
        end(row < rows ? packs : 0),
        leads(row < rows && first == 0) {
    if (!kWide) {
      first += static_cast<int>(threadIdx.x) / 32 * 32 * (kPacks - 1);
    }
  }

  /// body(p, i) for each of them. Packs below 16 bytes are many, and each would cost instructions.
  /// So step() is a constant for them, and a thread that has all kPacks does not compare.
  template <typename Body>
  __device__ void for_packs(Body body) const {
    if (!kWide && first + (kPacks - 1) * step() < end) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        body(p, first + p * step());
      }
    } else {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (first + p * step() < end) {
          body(p, first + p * step());
        }
      }
    }
  }

 private:
  static constexpr bool kWide = sizeof(RowPack) == 16;
  __device__ static int step() {
    return kWide ? blockDim.x : 32;
  }
};

// ---- 4. Launches ------------------------------------------------------------------------------
//
// A row gets as few threads as hold it: fewer sums to exchange, and several blocks on an SM.
//
//     with_pack_of<T>(bytes, [&](auto pack) {  // bytes: what alignment allows
//       constexpr int V = pack.value;
//       const auto layout = layout_of_rows<Pack<T, V>, kPacks>(rows, cols / V, 1, 1024);
//       launch_rows(kernel<T, V>, layout, rows, stream, x, y, rows, cols);
//     });

inline int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

inline bool has_clusters() {
  return attribute(cudaDevAttrClusterLaunch) != 0;
}

/// blockDim.x threads of a block have a row, blockDim.y rows are in a block, and gridDim.y blocks
/// share a row.
struct RowLayout {
  int threads, rows, blocks;
  unsigned bytes = 0;  // of a block's dynamic shared memory
};

/// How many blocks share a row: one if 256 threads hold it, or if the GPU has no clusters.
/// Otherwise as few as hold it with 224 threads each. Several blocks then fit on an SM, and some
/// load while others store.
inline int blocks_of_row(int packs, int packs_of_thread) {
  const int threads = (packs - 1) / packs_of_thread + 1;
  return threads <= 256 || !has_clusters() ? 1 : min((threads - 1) / 224 + 1, kMostBlocks);
}

/// As few threads as hold a row, kPacks packs each: 4, 8 or 16, or whole warps. Narrow rows share a
/// block of 128 threads. Few rows get more threads, up to most_threads: the time is then the
/// latency of one row.
template <typename RowPack, int kPacks>
RowLayout layout_of_rows(int rows, int packs, int blocks, int most_threads) {
  const int needed = (packs - 1) / (blocks * kPacks) + 1;
  int threads = (needed + 31) / 32 * 32;
  if (sizeof(RowPack) == 16 && blocks == 1) {
    while (threads / 2 >= max(needed, 4) && threads <= 32) {
      threads /= 2;
    }
    const int64_t few = 512 * int64_t{attribute(cudaDevAttrMultiProcessorCount)};
    while (int64_t{rows} * threads < few && 2 * threads <= most_threads && threads < packs) {
      threads *= 2;
    }
  }
  return {threads, threads < 128 && blocks == 1 ? 128 / threads : 1, blocks};
}

/// kernel<<<...>>>(arguments...). The blocks of a row are a cluster.
template <typename... Parameters, typename... Arguments>
void launch_rows(void (*kernel)(Parameters...), RowLayout layout, int rows, cudaStream_t stream,
                 Arguments... arguments) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, static_cast<unsigned>(layout.blocks), 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((rows - 1) / layout.rows + 1, layout.blocks);
  config.blockDim = dim3(layout.threads, layout.rows);
  config.dynamicSmemBytes = layout.bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = layout.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// launch(pack), where pack.value is a constant: the columns of a pack of 16 bytes, of 4 bytes, or
/// 1. The widest that `bytes` allows.
template <typename T, typename Launch>
void with_pack_of(int bytes, Launch launch) {
  if (bytes >= 16) {
    launch(std::integral_constant<int, 16 / sizeof(T)>());
  } else if (bytes >= 4 && sizeof(T) == 2) {
    launch(std::integral_constant<int, 2>());
  } else {
    launch(std::integral_constant<int, 1>());
  }
}

}  // namespace onepass

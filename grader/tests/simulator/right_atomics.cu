// Right kernels that look like wrong ones of atomic_scope_cases.cu: atomics of a narrow scope that
// something orders, fences wider or narrower than usual, orders that pass from block to block.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>

#include <cassert>

#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace cg = cooperative_groups;

namespace {

constexpr cuda::memory_order relaxed = cuda::memory_order_relaxed;
constexpr cuda::memory_order acquire = cuda::memory_order_acquire;
constexpr cuda::memory_order release = cuda::memory_order_release;
constexpr cuda::memory_order acq_rel = cuda::memory_order_acq_rel;

template <typename T>
using OfBlock = cuda::atomic_ref<T, cuda::thread_scope_block>;
template <typename T>
using OfDevice = cuda::atomic_ref<T, cuda::thread_scope_device>;

// ---- Atomics of block scope, of several blocks

__global__ void loads(int* word, int* y) {
  y[blockIdx.x * 64 + threadIdx.x] = OfBlock<int>(*word).load(relaxed) + *word;
}
CASE(loads_change_nothing, "") {
  loads<<<4, 64>>>(zeros<int>(0), zeros<int>(1));
}

__global__ void loads_early(int* word, int* y) {
  cudaTriggerProgrammaticLaunchCompletion();
  y[threadIdx.x] = OfDevice<int>(*word).load(relaxed) + *word;
}
CASE(loads_of_two_launches_at_once, "") {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config = {1, 64, 0, nullptr, &early, 1};
  int *word = zeros<int>(0), *y = zeros<int>(1);
  cudaLaunchKernelEx(&config, loads_early, word, y);
  cudaLaunchKernelEx(&config, loads_early, word, y + 64);
}

/// Each block has a word, which it hands on to the last one.
__global__ void sums_of_blocks(int* sums, unsigned* tickets, int* y) {
  __shared__ bool is_last;
  OfBlock<int>(sums[blockIdx.x]).fetch_add(1, relaxed);
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = OfDevice<unsigned>(*tickets).fetch_add(1, acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  for (unsigned i = 0; i < gridDim.x; ++i) OfBlock<int>(sums[i]).fetch_add(1, relaxed);
  __syncthreads();
  if (threadIdx.x < gridDim.x) y[threadIdx.x] = OfBlock<int>(sums[threadIdx.x]).load(relaxed);
  if (threadIdx.x == 0) OfBlock<unsigned>(*tickets).store(0, relaxed);
}
CASE(words_of_blocks_handed_to_the_last, "") {
  int* y = zeros<int>(2);
  sums_of_blocks<<<4, 64>>>(zeros<int>(0), zeros<unsigned>(1), y);
  expect(y, 4, 128, 0);
}

__global__ void one_word_in_turn(int* turn, int* sum) {
  if (threadIdx.x == 0) {
    while (OfDevice<int>(*turn).load(acquire) != static_cast<int>(blockIdx.x)) __nanosleep(20);
  }
  __syncthreads();
  OfBlock<int>(*sum).fetch_add(1, relaxed);
  atomicAdd_block(sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) OfDevice<int>(*turn).fetch_add(1, release);
}
CASE(word_of_one_block_after_the_other, "") {
  int* sum = zeros<int>(1);
  one_word_in_turn<<<4, 64>>>(zeros<int>(0), sum);
  expect(sum, 1, 512, 0);
}

__global__ void next_blocks_word(int* words) {
  atomicAdd_block(&words[blockIdx.x], 1);
  cg::this_grid().sync();
  atomicAdd_block(&words[(blockIdx.x + 1) % gridDim.x], 1);
}
CASE(words_changed_at_the_grids_barrier, "") {
  int* words = zeros<int>();
  void* arguments[] = {&words};
  cudaLaunchCooperativeKernel(next_blocks_word, 4, 64, arguments);
  expect(words, 4, 128, 0);
}

__global__ void neighbours_word(int* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd_block(&count, 1);
  cluster.sync();
  atomicAdd_block(cluster.map_shared_rank(&count, cluster.block_rank() ^ 1), 1);
  cluster.sync();
  if (threadIdx.x == 0) y[blockIdx.x] = count;
}
CASE(words_changed_at_the_clusters_barrier, "") {
  int* y = zeros<int>();
  const auto config = config_of(4, 64, 2);
  cudaLaunchKernelEx(&config, neighbours_word, y);
  expect(y, 4, 128, 0);
}

__global__ void count_twice(int* y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    count.store(0, relaxed);
  }
  __syncthreads();
  ++count;
  barrier.arrive_and_wait();
  y[blockIdx.x * 64 + threadIdx.x] = count.load(relaxed);
}
CASE(shared_words_behind_a_barrier_of_their_own, "") {
  int* y = zeros<int>();
  count_twice<<<4, 64>>>(y);
  expect(y, 256, 64, 0);
}

// ---- Flags and fences

/// Block 1 waits for block 0: by one thread, and the others look at the flag behind a barrier.
__global__ void flag_seen_again(int* flag, int* value, int* y) {
  if (blockIdx.x == 0) {
    if (threadIdx.x != 0) return;
    *value = 5;
    OfDevice<int>(*flag).store(1, release);
    return;
  }
  if (threadIdx.x == 0) {
    while (OfDevice<int>(*flag).load(acquire) == 0) __nanosleep(20);
  }
  __syncthreads();
  y[threadIdx.x] = *value + *flag + OfBlock<int>(*flag).load(relaxed);
}
CASE(flag_seen_again_by_others, "") {
  int* y = zeros<int>(2);
  flag_seen_again<<<2, 64>>>(zeros<int>(0), zeros<int>(1), y);
  expect(y, 64, 7, 0);
}

/// A value goes from block 0 to the last, each of which waits for the one before it. Those between
/// acquire and release, or add to one flag without an order of their own.
__global__ void passed_on(int* flags, int* value, int* y, bool one_flag) {
  if (threadIdx.x != 0) return;
  const int me = static_cast<int>(blockIdx.x), last = static_cast<int>(gridDim.x) - 1;
  OfDevice<int> before(flags[one_flag ? 0 : me]), next(flags[one_flag ? 0 : me + 1]);
  if (me == 0) {
    *value = 5;
    next.store(1, release);
  } else {
    while (before.load(me == last || !one_flag ? acquire : relaxed) < (one_flag ? me : 1)) {
      __nanosleep(20);
    }
    if (me == last) *y = *value;
    if (one_flag) {
      next.fetch_add(1, relaxed);
    } else if (me != last) {
      next.store(1, release);
    }
  }
}
CASE(passed_on_by_acquire_and_release, "") {
  int* y = zeros<int>(2);
  passed_on<<<4, 32>>>(zeros<int>(0), zeros<int>(1), y, false);
  expect(y, 1, 5, 0);
}
CASE(passed_on_by_a_release_sequence, "") {
  int* y = zeros<int>(2);
  passed_on<<<4, 32>>>(zeros<int>(0), zeros<int>(1), y, true);
  expect(y, 1, 5, 0);
}

/// The flag is relaxed, with fences on both sides of it.
__global__ void fenced_flag(int* flag, int* values, int* y) {
  if (blockIdx.x == 1) {
    values[threadIdx.x] = 5;
    cuda::atomic_thread_fence(release, cuda::thread_scope_device);
    __syncthreads();
    if (threadIdx.x == 0) OfDevice<int>(*flag).store(1, relaxed);
  } else {
    if (threadIdx.x == 0) {
      while (OfDevice<int>(*flag).load(relaxed) == 0) __nanosleep(20);
      cuda::atomic_thread_fence(acquire, cuda::thread_scope_device);
    }
    __syncthreads();
    y[threadIdx.x] = values[63 - threadIdx.x];
  }
}
CASE(fences_of_all_and_a_flag_of_one, "") {
  int* y = zeros<int>(2);
  fenced_flag<<<2, 64>>>(zeros<int>(0), zeros<int>(1), y);
  expect(y, 64, 5, 0);
}

/// From warp to warp: the fence orders for all, the flag is the block's.
__global__ void flag_of_the_block(int* y) {
  __shared__ int value;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) ready.store(0, relaxed);
  __syncthreads();
  if (threadIdx.x == 32) {
    value = 5;
    __threadfence();
    ready.store(1, relaxed);
  } else if (threadIdx.x == 0) {
    while (ready.load(acquire) == 0) __nanosleep(20);
    y[blockIdx.x] = value;
  }
}
CASE(fence_for_all_and_a_flag_of_the_block, "") {
  int* y = zeros<int>();
  flag_of_the_block<<<4, 64>>>(y);
  expect(y, 4, 5, 0);
}

/// A barrier of the grid by hand.
__global__ void met_by_hand(unsigned* arrived, int* words) {
  atomicAdd_block(&words[blockIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
  atomicAdd_block(&words[(blockIdx.x + 1) % gridDim.x], 1);
}
CASE(words_changed_at_a_barrier_by_hand, "") {
  int* words = zeros<int>(1);
  met_by_hand<<<4, 64>>>(zeros<unsigned>(0), words);
  expect(words, 4, 128, 0);
}

}  // namespace

// Races in shared memory: within a block and within a warp, and what lies between that is no order.
#include "tests/simulator/case_kernels.h"

namespace {

// ---- Between the warps of a block

template <typename T>
__global__ void exchange(T* y, bool barrier) {
  __shared__ T s[64];
  s[threadIdx.x] = y[threadIdx.x];  // writes
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];  // reads
}
CASE_OF_EACH_SIZE(exchange_with_barrier, "") {
  exchange<<<1, 64>>>(zeros<T>(), true);
}
// Thread 31 reads before thread 32 has written: told as the missing barrier that it is.
CASE_OF_EACH_SIZE(exchange_without_barrier, "shared-race",
                  {"s[32] is read and written", "two threads of a block",
                   "no __syncthreads() between"},
                  {{"reads", 31}, {"writes", 32}}) {
  exchange<<<1, 64>>>(zeros<T>(), false);
}

template <typename T>
__global__ void dynamic_exchange(T* y, bool barrier) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = reinterpret_cast<T*>(bytes);
  s[threadIdx.x] = y[threadIdx.x];  // writes
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];  // reads
}
CASE_OF_EACH_SIZE(dynamic_with_barrier, "") {
  dynamic_exchange<<<1, 64, 64 * sizeof(T)>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(dynamic_without_barrier, "shared-race", {"no __syncthreads() between"},
                  {{"reads", 31}, {"writes", 32}}) {
  dynamic_exchange<<<1, 64, 64 * sizeof(T)>>>(zeros<T>(), false);
}

__device__ inline float from_neighbour(float* s, float value) {
  s[threadIdx.x] = value;  // writes
  __syncthreads();
  return s[63 - threadIdx.x];  // reads
}
__global__ void twice_with_one_array(float* y) {
  __shared__ float s[64];
  const float once = from_neighbour(s, y[threadIdx.x]);  // first
  y[threadIdx.x] = from_neighbour(s, once);              // second
}
CASE(the_calls_of_a_helper, "shared-race", {"written and read"},
     {{"writes", 63, 0, "second"}, {"reads", 0, 0, "first"}}) {
  twice_with_one_array<<<1, 64>>>(zeros<float>());
}

template <typename T>
__global__ void tree(T* y, bool barrier) {
  __shared__ T s[256];
  const unsigned i = threadIdx.x;
  s[i] = y[i];
  __syncthreads();
  for (unsigned d = 128; d > 0; d /= 2) {
    if (i < d) s[i] = s[i + d];  // here
    if (barrier) __syncthreads();
  }
  if (i == 0) y[0] = s[0];
}
CASE_OF_EACH_SIZE(tree_with_barriers, "") {
  tree<<<1, 256>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(tree_without_barriers, "shared-race", {"two threads of a block"}) {
  tree<<<1, 256>>>(zeros<T>(), false);
}

template <typename T>
__global__ void reuse(T* y, bool barrier) {
  __shared__ T s;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) s = y[round];  // writes
    __syncthreads();
    y[threadIdx.x + 64] = s;  // reads
    if (barrier) __syncthreads();
  }
}
CASE_OF_EACH_SIZE(reuse_after_barrier, "") {
  reuse<<<1, 64>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(reuse_at_once, "shared-race", {"s is read and written"},
                  {{"reads", 63}, {"writes", 0}}) {
  reuse<<<1, 64>>>(zeros<T>(), false);
}

__global__ void everybody_reads(float* y) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 1;
  __syncthreads();
  const float v = s;            // reads
  __syncwarp();                 // the warp of the writer has read, the other one perhaps not
  if (threadIdx.x == 0) s = 2;  // writes
  y[threadIdx.x] = v;
}
CASE(reader_in_another_warp, "shared-race", {"read and written"}, {{"reads", 63}, {"writes", 0}}) {
  everybody_reads<<<1, 64>>>(zeros<float>());
}

__global__ void write_after_all_have_read(float* y) {
  __shared__ float s;
  if (threadIdx.x == 63) s = 1;
  __syncthreads();
  float v = s;  // reads
  v += __shfl_xor_sync(~0u, v, 1);
  if (threadIdx.x == 63) s = 2;  // writes
  y[threadIdx.x] = v;
}
CASE(last_thread_overwrites, "shared-race", {"read and written", "no __syncthreads() between"},
     {{"reads", 0}, {"writes", 63}}) {
  write_after_all_have_read<<<1, 64>>>(zeros<float>());
}

__global__ void both_write(float* y) {
  __shared__ float s;
  if (threadIdx.x < 32) s = 1;  // low
  y[threadIdx.x] = 0;
  if (threadIdx.x >= 32) s = 2;  // high
  __syncthreads();
  y[threadIdx.x] = s;
}
CASE(two_lines_write, "shared-race", {"written twice"}, {{"low", 31}, {"high", 32}}) {
  both_write<<<1, 64>>>(zeros<float>());
}

__global__ void all_write(float* y) {
  __shared__ float s;
  s = 1;  // here
  __syncthreads();
  y[threadIdx.x] = s;
}
CASE(all_write_the_same, "warning: shared-race", {"written twice"}) {
  all_write<<<1, 64>>>(zeros<float>());
}

// ---- Between the lanes of a warp

template <typename T>
__global__ void neighbours(T* y, bool syncwarp) {
  __shared__ T s[64];
  s[threadIdx.x] = y[threadIdx.x];  // writes
  if (syncwarp) __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];  // reads
}
CASE_OF_EACH_SIZE(warp_with_syncwarp, "") {
  neighbours<<<1, 64>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(warp_without_syncwarp, "shared-race",
                  {"two lanes of a warp with no __syncwarp() or __syncthreads() between"},
                  {{"reads", 0}, {"writes", 1}}) {
  neighbours<<<1, 64>>>(zeros<T>(), false);
}

__global__ void left_out(float* y, unsigned mask) {
  __shared__ float s[32];
  s[threadIdx.x] = y[threadIdx.x];                            // writes
  if (mask >> threadIdx.x & 1) __syncwarp(mask);              // masks
  if (threadIdx.x < 16) y[threadIdx.x] = s[threadIdx.x + 4];  // reads
}
CASE(syncwarp_of_the_readers_only, "shared-race",
     {"The __syncwarp() in line", "its mask 0x0000ffff leaves out lane 19"},
     {{"reads", 15}, {"writes", 19}}) {
  left_out<<<1, 32>>>(zeros<float>(), 0xffff);
}
CASE(syncwarp_of_all_that_use_it, "") {
  left_out<<<1, 32>>>(zeros<float>(), 0xfffff);
}

__global__ void chain(float* y) {
  __shared__ float s;
  const unsigned lane = threadIdx.x;
  if (lane == 0) s = y[0];
  if (lane < 2) __syncwarp(0x3);               // lane 1 comes after lane 0
  if (lane >= 1 && lane < 3) __syncwarp(0x6);  // lane 2 comes after lane 1
  if (lane == 2) y[1] = s;
}
CASE(order_by_way_of_another_lane, "") {
  chain<<<1, 32>>>(zeros<float>());
}

__global__ void half_of_warp(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = y[threadIdx.x];
  __syncwarp();
  if (threadIdx.x < 16) {
    s[threadIdx.x] += s[threadIdx.x + 16];
    __syncwarp(0xffff);
    y[threadIdx.x] = s[15 - threadIdx.x];
  }
}
CASE(partial_mask, "") {
  half_of_warp<<<1, 32>>>(zeros<float>());
}

__global__ void many_syncwarps(float* y) {
  __shared__ float s[64];
  for (int i = 0; i < 600; ++i) {
    s[threadIdx.x] = i;
    __syncwarp();
    y[threadIdx.x] += s[threadIdx.x ^ 1];
    __syncwarp();
  }
}
CASE(hundreds_of_syncwarps, "") {
  many_syncwarps<<<1, 64>>>(zeros<float>());
}

// ---- What is no order

enum class Between { nothing, shuffle, syncwarp, fence };

template <Between between>
__global__ void between_the_two(float* y) {
  __shared__ float s[64];
  float v = y[threadIdx.x];
  s[threadIdx.x] = v;  // writes
  if (between == Between::shuffle) v = __shfl_xor_sync(~0u, v, 1);
  if (between == Between::syncwarp) __syncwarp();
  if (between == Between::fence) __threadfence_block();
  y[threadIdx.x] = s[(threadIdx.x + 32) % 64] + v;  // reads
}
CASE(nothing_between, "shared-race", {"left to chance."}, {{"reads", 0}, {"writes", 32}}) {
  between_the_two<Between::nothing><<<1, 64>>>(zeros<float>());
}
CASE(shuffle_between, "shared-race",
     {"The __shfl_xor_sync() in line", "lies between, but it orders no accesses to memory"},
     {{"reads", 31}, {"writes", 63}}) {
  between_the_two<Between::shuffle><<<1, 64>>>(zeros<float>());
}
CASE(syncwarp_between_warps, "shared-race",
     {"The __syncwarp() in line", "only the lanes of one warp wait"},
     {{"reads", 31}, {"writes", 63}}) {
  between_the_two<Between::syncwarp><<<1, 64>>>(zeros<float>());
}
CASE(fence_between, "shared-race", {"A memory fence makes no other thread wait"},
     {{"reads", 0}, {"writes", 32}}) {
  between_the_two<Between::fence><<<1, 64>>>(zeros<float>());
}

__global__ void shuffle_in_a_loop(float* y) {
  __shared__ float s[32];
  const unsigned lane = threadIdx.x;
  s[lane] = y[lane];
  __syncwarp();
  for (unsigned d = 16; d > 0; d /= 2) {
    if (lane < d) s[lane] += s[lane + d];  // here
    __shfl_xor_sync(~0u, lane, 1);
  }
  if (lane == 0) y[0] = s[0];
}
CASE(shuffle_between_rounds, "shared-race",
     {"written and read", "The __shfl_xor_sync() in line", "orders no accesses"},
     {{"here", 8}, {"here", 0}}) {
  shuffle_in_a_loop<<<1, 32>>>(zeros<float>());
}

// ---- Atomics, and accesses of several sizes

template <typename T>
__global__ void atomic_after_store(T* y, bool barrier) {
  __shared__ T sum;
  if (threadIdx.x == 0) sum = 0;  // stores
  if (barrier) __syncthreads();
  atomicAdd(&sum, static_cast<T>(1));  // adds
  __syncthreads();
  if (threadIdx.x == 0) y[0] = sum;
}
CASE(atomic_after_barrier_4, "") {
  atomic_after_store<<<1, 64>>>(zeros<float>(), true);
}
CASE(atomic_after_barrier_8, "") {
  atomic_after_store<<<1, 64>>>(zeros<double>(), true);
}
CASE(atomic_without_barrier_2, "shared-race", {"written and updated atomically"},
     {{"stores", 0}, {"adds", 32}}) {
  atomic_after_store<<<1, 64>>>(zeros<__half>(), false);
}
CASE(atomic_without_barrier_4, "shared-race", {"written and updated atomically"},
     {{"stores", 0}, {"adds", 32}}) {
  atomic_after_store<<<1, 64>>>(zeros<float>(), false);
}
CASE(atomic_without_barrier_8, "shared-race", {"written and updated atomically"},
     {{"stores", 0}, {"adds", 32}}) {
  atomic_after_store<<<1, 64>>>(zeros<unsigned long long>(), false);
}

__global__ void flag_beside_array(float* y) {
  __shared__ float s[64];
  __shared__ bool flag;
  s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  s[threadIdx.x] = 1;                    // writes
  if (threadIdx.x == 0) flag = true;     // the first access of one byte: the records are divided
  y[threadIdx.x] = s[63 - threadIdx.x];  // reads
  __syncthreads();
  if (flag) y[threadIdx.x] += 1;
}
CASE(smaller_access_in_between, "shared-race", {"s[0]"}, {{"reads", 63}, {"writes", 0}}) {
  flag_beside_array<<<1, 64>>>(zeros<float>());
}

// ---- volatile

/// The old style, from before __syncwarp() was there: a warp no longer runs in step by itself.
__global__ void tree_through_volatile(float* y, bool syncwarp) {
  __shared__ volatile float s[64];
  const unsigned i = threadIdx.x;
  s[i] = 1;
  __syncthreads();
  if (i < 32) {
    for (unsigned d = 32; d > 0; d /= 2) {
      const float sum = s[i] + s[i + d];  // reads
      if (syncwarp) __syncwarp();
      s[i] = sum;  // writes
      if (syncwarp) __syncwarp();
    }
  }
  __syncthreads();
  y[i] = s[0];
}
CASE(warp_in_step_through_volatile, "shared-race",
     {"two lanes of a warp", "volatile makes no access atomic"}, {{"reads", 0}, {"writes", 1}}) {
  tree_through_volatile<<<1, 64>>>(zeros<float>(), false);
}
CASE(volatile_with_syncwarp, "") {
  tree_through_volatile<<<1, 64>>>(zeros<float>(), true);
}

__global__ void flag_through_volatile(float* y) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 32) ready = 1;  // writes
  if (threadIdx.x == 0) {
    while (ready == 0) {  // reads
    }
    y[0] = 1;
  }
}
CASE(flag_between_warps_through_volatile, "shared-race", {"volatile makes no access atomic"},
     {{"reads", 0}, {"writes", 32}}) {
  flag_through_volatile<<<1, 64>>>(zeros<float>());
}

// ---- What a shuffle hands on has been read

enum class Overwrites { behind, before, after_one_step, by_another_warp, after_a_vote };

/// A reduction that gives its result back where its inputs were.
template <Overwrites when>
__global__ void overwrite_inputs(float* y) {
  __shared__ float s[32];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) s[lane] = y[lane];
  __syncthreads();
  float v = s[31 - lane];  // here
  if (when == Overwrites::before) s[lane] = 1;
  if (when == Overwrites::after_a_vote) {
    v = __any_sync(~0u, v != 0) ? 1 : 0;
  } else {
    for (unsigned d = 16; d > 0; d /= 2) {
      v += __shfl_xor_sync(~0u, v, d);
      if (when == Overwrites::after_one_step) break;
    }
  }
  if (when != Overwrites::before && threadIdx.x / 32 == (when == Overwrites::by_another_warp)) {
    s[lane] = v;
  }
  __syncthreads();
  y[threadIdx.x] = s[lane];
}
CASE(overwritten_behind_shuffles, "warning: shared-race",
     {"read and then written by two lanes", "put a __syncwarp() between"}) {
  overwrite_inputs<Overwrites::behind><<<1, 32>>>(zeros<float>());
}
CASE(overwritten_behind_a_vote, "warning: shared-race", {"a shuffle or a vote between"}) {
  overwrite_inputs<Overwrites::after_a_vote><<<1, 32>>>(zeros<float>());
}
CASE(overwritten_before_the_shuffles, "shared-race", {"left to chance"}) {
  overwrite_inputs<Overwrites::before><<<1, 32>>>(zeros<float>());
}
CASE(overwritten_by_whom_the_value_does_not_reach, "shared-race", {"left to chance"}) {
  overwrite_inputs<Overwrites::after_one_step><<<1, 32>>>(zeros<float>());
}
CASE(overwritten_by_another_warp, "shared-race", {"left to chance"}) {
  overwrite_inputs<Overwrites::by_another_warp><<<1, 64>>>(zeros<float>());
}

__global__ void overwrite_volatile(float* y) {
  __shared__ float s[32];
  volatile float* shared = s;
  s[threadIdx.x] = y[threadIdx.x];
  __syncwarp();
  const float v = shared[31 - threadIdx.x];  // here
  shared[threadIdx.x] = v;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(volatile_hands_nothing_on, "shared-race", {"volatile makes no access atomic"}) {
  overwrite_volatile<<<1, 32>>>(zeros<float>());
}

/// In the first round a shuffle carries the value, in the second none does.
__global__ void overwrite_in_rounds(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = y[threadIdx.x];
  __syncwarp();
  for (int round = 0; round < 2; ++round) {
    float v = s[31 - threadIdx.x];  // here
    if (round == 0) v = __shfl_xor_sync(~0u, v, 31);
    s[threadIdx.x] = v;
    __syncwarp();
  }
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(shuffled_in_one_round_only, "shared-race", {"left to chance"}) {
  overwrite_in_rounds<<<1, 32>>>(zeros<float>());
}

/// More shuffles than there are numbers for.
__global__ void overwrite_after_many(float* y) {
  __shared__ float s[32];
  for (int i = 0; i < 300; ++i) y[threadIdx.x] += __shfl_xor_sync(~0u, 1.0f, 1);
  s[threadIdx.x] = y[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = s[31 - threadIdx.x];
  __syncwarp();
  s[threadIdx.x] = 0;
}
CASE(syncwarps_behind_many_shuffles, "") {
  overwrite_after_many<<<1, 32>>>(zeros<float>());
}

}  // namespace

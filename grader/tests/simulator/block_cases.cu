// Shared memory, barriers, warps, endless loops, assertions.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cassert>

#include "tests/simulator/cases.h"

namespace {

/// Zeroed device memory for results.
float* results() {
  static float* memory = nullptr;
  if (memory == nullptr) {
    cudaMalloc(&memory, 4096 * sizeof(float));
    cudaMemset(memory, 0, 4096 * sizeof(float));
  }
  return memory;
}

// ---- Shared memory

template <typename T>
__global__ void reverse(T* y, int written) {
  __shared__ T s[64];
  const int i = threadIdx.x;
  if (i < written) s[i] = y[i];
  __syncthreads();
  y[i] = s[63 - i];  // here
}
template <typename T>
void reverse_elements(int written) {
  reverse<T><<<1, 64>>>(reinterpret_cast<T*>(results()), written);
}
CASE(shared_1, "") {
  reverse_elements<unsigned char>(64);
}
CASE(shared_2, "") {
  reverse_elements<__half>(64);
}
CASE(shared_4, "") {
  reverse_elements<float>(64);
}
CASE(shared_8, "") {
  reverse_elements<float2>(64);
}
CASE(shared_16, "") {
  reverse_elements<float4>(64);
}
CASE(uninitialised_shared_1, "uninitialised-shared") {
  reverse_elements<unsigned char>(63);
}
CASE(uninitialised_shared_2, "uninitialised-shared") {
  reverse_elements<__half>(63);
}
CASE(uninitialised_shared_4, "uninitialised-shared") {
  reverse_elements<float>(63);
}
CASE(uninitialised_shared_8, "uninitialised-shared") {
  reverse_elements<float2>(63);
}
CASE(uninitialised_shared_16, "uninitialised-shared") {
  reverse_elements<float4>(63);
}

template <typename T>
__global__ void reverse_at_once(T* y) {
  __shared__ T s[64];
  s[threadIdx.x] = y[threadIdx.x];
  y[threadIdx.x] = s[63 - threadIdx.x];  // here
}
CASE(missing_barrier_1, "shared-race") {
  reverse_at_once<<<1, 64>>>(reinterpret_cast<char*>(results()));
}
CASE(missing_barrier_4, "shared-race") {
  reverse_at_once<<<1, 64>>>(results());
}
CASE(missing_barrier_16, "shared-race") {
  reverse_at_once<<<1, 64>>>(reinterpret_cast<float4*>(results()));
}

__global__ void past_shared(float* y, int n) {
  __shared__ float s[64];
  float* p = s;
  p[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) y[0] += p[i];
  }
}
CASE(static_shared_inside, "") {
  past_shared<<<1, 64>>>(results(), 64);
}

__global__ void index_shared(float* y, int i, int j) {
  __shared__ float s[64];
  s[i] = y[0];  // here
  y[1] = s[j];  // the same, but the compiler must not know: it would drop the array
}
CASE(static_shared_outside, "out-of-bounds-shared") {
  index_shared<<<1, 1>>>(results(), 64, 64);
}
CASE(static_shared_last, "") {
  index_shared<<<1, 1>>>(results(), 63, 63);
}

__global__ void too_few_slots(float* y, int slots) {
  __shared__ float partial[8];
  float local[4] = {1, 2, 3, 4};
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) partial[warp] = local[warp % slots];  // here
  __syncthreads();
  if (threadIdx.x < 8) y[threadIdx.x] = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
}
CASE(slots_suffice, "") {
  too_few_slots<<<1, 256>>>(results(), 4);
}
CASE(more_warps_than_slots, "out-of-bounds-shared") {
  too_few_slots<<<1, 288>>>(results(), 4);
}
CASE(local_array_beside_a_shared_one, "out-of-bounds-local") {
  too_few_slots<<<1, 256>>>(results(), 5);
}

template <typename T>
__global__ void dynamic(T* y) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = reinterpret_cast<T*>(bytes);
  s[threadIdx.x] = y[threadIdx.x];  // here
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
template <typename T>
void dynamic_elements(int elements) {
  dynamic<T><<<1, 64, elements * sizeof(T)>>>(reinterpret_cast<T*>(results()));
}
CASE(dynamic_1, "") {
  dynamic_elements<unsigned char>(64);
}
CASE(dynamic_2, "") {
  dynamic_elements<__half>(64);
}
CASE(dynamic_4, "") {
  dynamic_elements<float>(64);
}
CASE(dynamic_8, "") {
  dynamic_elements<float2>(64);
}
CASE(dynamic_16, "") {
  dynamic_elements<float4>(64);
}
CASE(past_dynamic_1, "out-of-bounds-shared") {
  dynamic_elements<unsigned char>(63);
}
CASE(past_dynamic_2, "out-of-bounds-shared") {
  dynamic_elements<__half>(63);
}
CASE(past_dynamic_4, "out-of-bounds-shared") {
  dynamic_elements<float>(63);
}
CASE(past_dynamic_8, "out-of-bounds-shared") {
  dynamic_elements<float2>(63);
}
CASE(past_dynamic_16, "out-of-bounds-shared") {
  dynamic_elements<float4>(63);
}

// ---- Barriers

__global__ void two_barriers(float* y) {
  if (threadIdx.x < 32) {
    y[threadIdx.x] = 1;
    __syncthreads();  // here
  } else {
    y[threadIdx.x] = 2;
    __syncthreads();
  }
}
CASE(barrier_in_both_branches, "barrier-divergence") {
  two_barriers<<<1, 64>>>(results());
}

__device__ float sum_of_warp(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  return v;
}
__global__ void barrier_in_a_branch(float* y) {
  __shared__ float partial[4];
  const float v = sum_of_warp(y[threadIdx.x]);
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = v;
    __syncthreads();  // here
  }
  y[threadIdx.x] = sum_of_warp(threadIdx.x % 32 < 4 ? partial[threadIdx.x % 32] : 0);
}
CASE(barrier_for_some_threads, "barrier-divergence") {  // before the race that it causes
  barrier_in_a_branch<<<1, 128>>>(results());
}

__global__ void return_early(float* y) {
  if (threadIdx.x >= 50) return;
  y[threadIdx.x] = 1;
  __syncthreads();  // here
  y[threadIdx.x] = 2;
}
CASE(returned_before_barrier, "early-return") {
  return_early<<<1, 64>>>(results());
}

__global__ void count_votes(float* y) {
  const int i = threadIdx.x;
  assert(__syncthreads_count(i < 10) == 10);
  assert(__syncthreads_and(i >= 0) == 1 && __syncthreads_and(i > 0) == 0);
  assert(__syncthreads_or(i == 40) == 1 && __syncthreads_or(i < 0) == 0);
  y[i] = 1;
}
CASE(barrier_votes, "") {
  count_votes<<<1, 64>>>(results());
}

// ---- Warps

__global__ void warp_calls(float* y) {
  const int lane = threadIdx.x % 32;
  assert(__shfl_sync(~0u, lane, 5) == 5);
  assert(__shfl_up_sync(~0u, lane, 1) == (lane == 0 ? 0 : lane - 1));
  assert(__shfl_down_sync(~0u, lane, 3) == (lane > 28 ? lane : lane + 3));
  assert(__shfl_xor_sync(~0u, 1.5 * lane, 16) == 1.5 * (lane ^ 16));
  assert(__shfl_down_sync(~0u, lane, 1, 8) == (lane % 8 == 7 ? lane : lane + 1));
  assert(__ballot_sync(~0u, lane < 4) == 0xf);
  assert(__any_sync(~0u, lane == 3) && !__all_sync(~0u, lane == 3));
  assert(__reduce_add_sync(~0u, 1u) == 32 && __reduce_min_sync(~0u, lane - 40) == -40);
  assert(__reduce_max_sync(~0u, -lane) == 0 && __reduce_xor_sync(~0u, 1u << lane) == ~0u);
  assert(__match_any_sync(~0u, lane % 2) == (lane % 2 ? 0xaaaaaaaau : 0x55555555u));
  int equal = 0;
  assert(__match_all_sync(~0u, 7, &equal) == ~0u && equal == 1);
  if (lane < 16) {
    assert(__activemask() == 0xffffu);
    assert(__shfl_xor_sync(0xffffu, lane, 8) == (lane ^ 8));
    __syncwarp(0xffffu);
  }
  y[threadIdx.x] = 1;
}
CASE(warp_operations, "") {
  warp_calls<<<1, 64>>>(results());
}

__global__ void half_warp_of_a_small_block(float* y) {
  y[threadIdx.x] = __reduce_add_sync(~0u, 1u) == 16 && __ballot_sync(~0u, 1) == 0xffff;
}
CASE(full_mask_in_a_small_block, "") {
  half_warp_of_a_small_block<<<1, 16>>>(results());
}

__global__ void not_in_mask(float* y) {
  y[threadIdx.x] = __shfl_sync(0xffff, 1.0f, 0);  // here
}
CASE(mask_leaves_out_caller, "bad-warp-mask") {
  not_in_mask<<<1, 32>>>(results());
}

__global__ void odd_width(float* y) {
  y[0] = __shfl_sync(~0u, 1.0f, 0, 12);  // here
}
CASE(shuffle_width, "bad-warp-mask") {
  odd_width<<<1, 32>>>(results());
}

__global__ void different_masks(float* y) {
  y[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? ~0u : 0xffff8000u, 1.0f, 16);  // here
}
CASE(masks_differ, "bad-warp-mask") {
  different_masks<<<1, 32>>>(results());
}

__global__ void different_operations(float* y) {
  if (threadIdx.x < 16) {
    y[threadIdx.x] = __shfl_sync(~0u, 1.0f, 0);  // here
  } else {
    y[threadIdx.x] = __ballot_sync(~0u, 1);
  }
}
CASE(operations_differ, "bad-warp-mask") {
  different_operations<<<1, 32>>>(results());
}

__global__ void beyond_mask(float* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_down_sync(0xffffu, 1.0f, 8);  // here
}
CASE(lane_not_taking_part, "inactive-lane-read") {
  beyond_mask<<<1, 32>>>(results());
}

__global__ void return_before_sum(float* y, unsigned n) {
  if (threadIdx.x >= n) return;
  float v = y[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);  // here
  y[threadIdx.x] = v;
}
CASE(returned_lane_is_read, "early-return") {
  return_before_sum<<<1, 32>>>(results(), 20);
}
CASE(whole_warps_returned, "") {
  return_before_sum<<<1, 128>>>(results(), 64);
}

__global__ void return_before_tree(float* y, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  float v = y[threadIdx.x];
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d, 8);  // here
  y[threadIdx.x] = v;
}
CASE(returned_lane_in_the_tree, "early-return") {
  return_before_tree<<<1, 32>>>(results(), 13);
}
CASE(returned_segments, "") {
  return_before_tree<<<1, 32>>>(results(), 16);
}

__global__ void sum_of_partial_warp(float* y) {
  const unsigned mask = __ballot_sync(~0u, threadIdx.x < 20);
  if (threadIdx.x >= 20) return;
  float v = 0;
  for (int lane = 0; lane < 20; ++lane) v += __shfl_sync(mask, 1.0f, lane);
  y[threadIdx.x] = v;
}
CASE(partial_warp_with_its_mask, "") {
  sum_of_partial_warp<<<1, 32>>>(results());
}

__global__ void shuffle_in_branch(float* y) {
  float v = 1;
  if (threadIdx.x < 16) v = __shfl_down_sync(~0u, v, 8);  // here
  __syncthreads();
  y[threadIdx.x] = v;
}
CASE(lanes_wait_elsewhere, "barrier-divergence") {
  shuffle_in_branch<<<1, 32>>>(results());
}

// ---- Loops, assertions, traps

__global__ void loop_with_loads(volatile float* y) {
  while (y[0] == y[0]) {  // here
  }
}
CASE(waits_for_memory, "deadlock") {
  loop_with_loads<<<1, 32>>>(results());
}

__global__ void loop_with_stores(float* y) {
  for (unsigned i = 0;; i = i * 3 + 1) y[i % 64] = 0;  // here
}
CASE(endless_with_stores, "endless-loop") {
  loop_with_stores<<<1, 1>>>(results());
}

__global__ void loop_of_arithmetic(float* y, unsigned v) {
  while (v != 2) v = v * 4 + 1;  // here: v is odd for ever
  y[0] = v;
}
CASE(endless_arithmetic, "endless-loop") {
  loop_of_arithmetic<<<1, 1>>>(results(), 0);
}

__global__ void check_index(float* y) {
  assert(threadIdx.x < 16);  // here
  y[threadIdx.x] = 0;
}
CASE(assertion, "assert") {
  check_index<<<1, 32>>>(results());
}

__global__ void call_trap() {
  __trap();  // here
}
CASE(trap, "trap") {
  call_trap<<<1, 1>>>();
}

// ---- Threads and blocks that wait for one another

__global__ void lock_and_add(int* lock, float* y) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  y[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
CASE(spin_lock, "") {
  int* lock = nullptr;
  cudaMalloc(&lock, sizeof(int));
  cudaMemset(lock, 0, sizeof(int));
  lock_and_add<<<4, 64>>>(lock, results());
  cudaFree(lock);
}

__global__ void grid_barrier(volatile int* arrived, float* y) {
  __shared__ float s;
  if (threadIdx.x == 0) {
    s = blockIdx.x;
    __threadfence();
    atomicAdd(const_cast<int*>(arrived), 1);
    while (*arrived < static_cast<int>(gridDim.x)) {  // here
    }
  }
  __syncthreads();
  assert(s == blockIdx.x);  // shared memory is the block's own
  y[blockIdx.x * 32 + threadIdx.x] = s;
}
void meet(int blocks) {
  int* arrived = nullptr;
  cudaMalloc(&arrived, sizeof(int));
  cudaMemset(arrived, 0, sizeof(int));
  grid_barrier<<<blocks, 32>>>(arrived, results());
  cudaFree(arrived);
}
CASE(blocks_that_meet, "") {
  meet(8);
}
CASE(more_blocks_than_fit, "deadlock") {
  meet(20000);
}

// ---- Launches

__global__ void add(float* y, float value) {
  y[threadIdx.x] += value;
}
CASE(kernel_by_pointer, "") {
  void (*kernel)(float*, float) = add;
  kernel<<<1, 64>>>(results(), 2.5);
  (*kernel)<<<1, 64>>>(results(), 1);
}

__global__ void nothing() {}
CASE(no_blocks, "invalid-launch") {
  nothing<<<0, 32>>>();
}
CASE(too_many_threads, "invalid-launch") {
  nothing<<<1, 1025>>>();
}
CASE(much_shared_memory, "invalid-launch") {
  nothing<<<1, 32, 49153>>>();
}

__global__ void allowed() {}
CASE(much_shared_memory_allowed, "") {
  cudaFuncSetAttribute(allowed, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  allowed<<<1, 32, 100000>>>();
}

}  // namespace

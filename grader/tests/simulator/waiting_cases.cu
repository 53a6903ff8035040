// Threads and blocks that wait for one another, loops that do not end, assertions, launches.
#include <cassert>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

// ---- Waiting that comes to an end

__global__ void lock_and_add(int* lock, float* y) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  y[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
CASE(spin_lock, "") {
  lock_and_add<<<4, 64>>>(zeros<int>(1), zeros<float>());
}

__global__ void lock_with_sleep(int* lock, float* y) {
  unsigned ns = 8;
  while (atomicCAS(lock, 0, 1) != 0) {
    __nanosleep(ns);
    if (ns < 256) ns *= 2;
  }
  __threadfence();
  y[threadIdx.x % 8] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
CASE(spin_lock_that_sleeps, "") {
  lock_with_sleep<<<8, 64>>>(zeros<int>(1), zeros<float>());
}

__global__ void meet_often(int* arrived, float* y, int rounds) {
  __shared__ float s;
  for (int round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) {
      s = blockIdx.x + round;
      __threadfence();
      atomicAdd(arrived, 1);
      while (atomicAdd(arrived, 0) < round * static_cast<int>(gridDim.x)) {  // here
      }
      __threadfence();
    }
    __syncthreads();
    assert(s == blockIdx.x + round);  // shared memory is the block's own
    y[blockIdx.x * 32 + threadIdx.x] = s;
    __syncthreads();
  }
}
CASE(blocks_that_meet, "") {
  meet_often<<<8, 32>>>(zeros<int>(1), zeros<float>(), 1);
}
CASE(blocks_that_meet_again_and_again, "") {
  meet_often<<<4, 32>>>(zeros<int>(1), zeros<float>(), 300);
}

/// Each thread has a number of its own over the meeting, in local memory, and each block one in
/// shared memory.
__global__ void meet_once(int* arrived, float* y) {
  extern __shared__ int words[];
  __shared__ int word;
  int own[4] = {};
  own[threadIdx.x % 4] = static_cast<int>(blockIdx.x + threadIdx.x);
  if (threadIdx.x == 0) {
    word = words[0] = static_cast<int>(blockIdx.x);
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {  // here
    }
  }
  __syncthreads();
  assert(word == static_cast<int>(blockIdx.x) && words[0] == word);
  assert(own[threadIdx.x % 4] == static_cast<int>(blockIdx.x + threadIdx.x));
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<float>(word);
}
CASE(blocks_as_many_as_multiprocessors, "") {
  meet_once<<<132, 256, 4>>>(zeros<int>(1), zeros<float>());
}
CASE(as_many_blocks_as_fit, "") {
  meet_once<<<2 * 132, 1024, 4>>>(zeros<int>(1), zeros<float>());
  meet_once<<<8 * 132, 256, 4>>>(zeros<int>(1), zeros<float>());
}
CASE(as_many_blocks_as_shared_memory_holds, "") {
  cudaFuncSetAttribute(meet_once, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  meet_once<<<2 * 132, 64, 100 << 10>>>(zeros<int>(1), zeros<float>());
}

/// The first block waits when it has used `own` only. Others use more in the meantime.
__global__ void use_one_after_the_other(int* arrived, float* y) {
  __shared__ int before[8];
  __shared__ int own[8];
  __shared__ int behind[8];
  own[threadIdx.x] = static_cast<int>(8 * blockIdx.x + threadIdx.x);
  if (blockIdx.x > 0) {
    before[threadIdx.x] = behind[threadIdx.x] = -1;
    if (threadIdx.x == 0) atomicAdd(arrived, 1);
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(arrived, 0) == 0) {
    }
  }
  __syncthreads();
  assert(own[threadIdx.x] == static_cast<int>(8 * blockIdx.x + threadIdx.x));
  if (blockIdx.x > 0) assert(before[threadIdx.x] == -1 && behind[threadIdx.x] == -1);
  y[8 * blockIdx.x + threadIdx.x] = static_cast<float>(own[threadIdx.x]);
}
CASE(shared_variables_used_while_a_block_waits, "") {
  use_one_after_the_other<<<2, 8>>>(zeros<int>(1), zeros<float>());
}

__global__ void hand_over(int* turn, float* y) {
  while (atomicAdd(turn, 0) != static_cast<int>(blockIdx.x)) {
  }
  __threadfence();
  y[0] += blockIdx.x;
  __threadfence();
  atomicExch(turn, static_cast<int>(blockIdx.x) - 1);
}
CASE(last_block_goes_first, "") {
  int* turn = zeros<int>(1);
  const int last = 39;
  cudaMemcpy(turn, &last, sizeof last, cudaMemcpyHostToDevice);
  hand_over<<<40, 1>>>(turn, zeros<float>());
}

__global__ void either_word(volatile int* a, volatile int* b, float* y) {
  if (blockIdx.x == 0) {
    while (*a == 0 && *b == 0) {
    }
  } else {
    *b = 1;  // here
  }
  y[blockIdx.x] = 1;
}
CASE(waits_for_one_of_two_words, "global-race", {"volatile makes no access atomic"}) {
  either_word<<<2, 1>>>(zeros<int>(1), zeros<int>(2), zeros<float>());
}

__global__ void maximum(const int* x, int* most, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicMax(most, x[i]);
}
CASE(many_atomics_that_change_nothing, "") {  // they are work, not waiting
  int host[16384];
  for (int i = 0; i < 16384; ++i) host[i] = 16384 - i;
  int* x = zeros<int>(1);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  maximum<<<1, 4>>>(x, zeros<int>(), 16384);
}

// ---- Waiting that does not

// As many blocks as the device holds may wait for one another, and not one more.
CASE(more_blocks_than_fit, "deadlock",
     {"Every block that has begun waits for a word in memory",
      "One block of the grid has not begun"}) {
  meet_once<<<2 * 132 + 1, 1024, 4>>>(zeros<int>(1), zeros<float>());
}
CASE(more_blocks_than_shared_memory_holds, "deadlock", {"has not begun"}) {
  cudaFuncSetAttribute(meet_once, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  meet_once<<<2 * 132 + 1, 64, 100 << 10>>>(zeros<int>(1), zeros<float>());
}

/// Five blocks a multiprocessor, by what each has in static shared memory.
__global__ void meet_with_arrays(int* arrived, float* y) {
  __shared__ float kept[10000];
  kept[threadIdx.x] = y[threadIdx.x];
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {  // here
    }
  }
  __syncthreads();
  y[64 + 32 * blockIdx.x + threadIdx.x] = kept[threadIdx.x];
}
CASE(as_many_blocks_as_static_shared_memory_holds, "") {
  meet_with_arrays<<<5 * 132 / 2, 32>>>(zeros<int>(1), zeros<float>());
  meet_with_arrays<<<5 * 132 - 200, 32>>>(zeros<int>(1), zeros<float>());
}
CASE(more_blocks_than_static_shared_memory_holds, "deadlock", {"has not begun"}) {
  meet_with_arrays<<<5 * 132 + 1, 32>>>(zeros<int>(1), zeros<float>());
}

/// A launcher that asks how many there may be is told of the arrays that its kernel declares; and
/// as many as it is told there are, whatever shows later.
__device__ float kept_by_a_helper(float v) {
  __shared__ float kept[5000];
  kept[threadIdx.x] = v;
  __syncthreads();
  return kept[31 - threadIdx.x];
}
__global__ void meet_as_told(int* arrived, float* y) {
  __shared__ float kept[5000];
  kept[threadIdx.x] = kept_by_a_helper(y[threadIdx.x]);
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) y[64 + blockIdx.x] = kept[0];
}
CASE(as_many_blocks_as_the_launcher_is_told, "") {
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet_with_arrays, 32, 0);
  assert(blocks == 5);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet_as_told, 32, 0);
  assert(blocks >= 5);
  meet_as_told<<<blocks * 132, 32>>>(zeros<int>(1), zeros<float>());
}

// ---- Shared memory that a block cannot have

template <int n>
__global__ void static_and_dynamic(float* y) {
  extern __shared__ float more[];
  __shared__ float own[n];
  own[threadIdx.x] = more[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = own[31 - threadIdx.x] + more[31 - threadIdx.x];  // here
}
CASE(static_and_dynamic_up_to_48_KB, "") {
  static_and_dynamic<2048><<<1, 32, 40 << 10>>>(zeros<float>());
}
CASE(static_and_dynamic_of_more, "invalid-launch",
     {"__shared__ arrays have 8192 bytes, and the launch asks for 40961 more", "allowed first"}) {
  static_and_dynamic<2048><<<1, 32, (40 << 10) + 1>>>(zeros<float>());
}

__global__ void lock_without_release(int* lock, float* y) {
  while (atomicCAS(lock, 0, 1) != 0) {  // here
  }
  __threadfence();
  y[0] += 1;
}
CASE(lock_never_released, "deadlock", {"none will change it"}, {{"here", 1}}) {
  lock_without_release<<<1, 32>>>(zeros<int>(1), zeros<float>());
}

__global__ void loop_with_loads(volatile float* y) {
  while (y[0] == y[0]) {  // here
  }
}
CASE(waits_for_memory, "deadlock", {"none will change it"}) {
  loop_with_loads<<<1, 32>>>(zeros<float>());
}

__global__ void loop_with_stores(float* y) {
  for (unsigned i = 0;; i = i * 3 + 1) y[i % 64] = 0;  // here
}
CASE(endless_with_stores, "endless-loop", {"still runs after 1 s"}, {{"here", 0}}) {
  loop_with_stores<<<1, 1>>>(zeros<float>());
}

__global__ void loop_of_arithmetic(float* y, unsigned v) {
  while (v != 2) v = v * 4 + 1;  // here
  y[0] = v;
}
CASE(endless_arithmetic, "endless-loop", {"still runs after 1 s", "a loop that does not end"},
     {{"here", 0}}) {
  loop_of_arithmetic<<<1, 1>>>(zeros<float>(), 0);  // v is odd for ever
}
CASE(loop_that_ends, "") {
  loop_of_arithmetic<<<1, 1>>>(zeros<float>(), 2);
}

// ---- Assertions and traps

__global__ void check_index(float* y, unsigned limit) {
  assert(threadIdx.x < limit);  // here
  y[threadIdx.x] = 0;
}
CASE(assertion, "assert", {"assert(threadIdx.x < limit) failed"}, {{"here", 16}}) {
  check_index<<<1, 32>>>(zeros<float>(), 16);
}
CASE(assertion_that_holds, "") {
  check_index<<<1, 32>>>(zeros<float>(), 32);
}

__global__ void call_trap(unsigned thread) {
  if (threadIdx.x == thread) __trap();  // here
}
CASE(trap, "trap", {"__trap()"}, {{"here", 3}}) {
  call_trap<<<1, 32>>>(3);
}
CASE(trap_not_reached, "") {
  call_trap<<<1, 32>>>(32);
}

// ---- Launches

__global__ void add(float* y, float value) {
  y[threadIdx.x] += value;
}
CASE(kernel_by_pointer, "") {
  void (*kernel)(float*, float) = add;
  kernel<<<1, 64>>>(zeros<float>(), 2.5);
  (*kernel)<<<1, 64>>>(zeros<float>(), 1);
}

__global__ void nothing() {}
CASE(no_blocks, "invalid-launch", {"a launch of no blocks"}) {
  nothing<<<0, 32>>>();  // here
}
CASE(no_threads, "invalid-launch", {"it has no threads"}) {
  nothing<<<1, 0>>>();  // here
}
CASE(too_many_threads, "invalid-launch", {"it may have 1024 threads"}) {
  nothing<<<1, 1025>>>();  // here
}
CASE(too_many_blocks_in_y, "invalid-launch", {"65535"}) {
  nothing<<<dim3(1, 65536), 32>>>();  // here
}
CASE(largest_launch, "") {
  nothing<<<dim3(1, 1, 2), dim3(16, 1, 64)>>>();
}
CASE(much_shared_memory, "invalid-launch", {"cudaFuncSetAttribute"}) {
  nothing<<<1, 32, 49153>>>();  // here
}

__global__ void allowed() {}
CASE(much_shared_memory_allowed, "") {
  cudaFuncSetAttribute(allowed, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  allowed<<<1, 32, 100000>>>();
}
CASE(too_much_shared_memory, "invalid-launch", {"a block can have"}) {
  cudaFuncSetAttribute(allowed, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000);
  allowed<<<1, 32, 300000>>>();  // here
}

__global__ void many_reads(const float* x, float* y) {
  float sum = 0;
  for (int i = 0; i < 1000; ++i) sum += x[i % 64];  // here
  y[64] = sum;
}
CASE(more_accesses_than_allowed, "endless-loop", {"still runs after 1000 accesses"}, {}, 1, false) {
  float* x = zeros<float>();
  simulator::limit_accesses(1000);
  many_reads<<<1, 1>>>(x, x);
  simulator::limit_accesses(0);
}
CASE(as_many_accesses_as_allowed, "") {
  float* x = zeros<float>();
  simulator::limit_accesses(2000);
  many_reads<<<1, 1>>>(x, x);
  simulator::limit_accesses(0);
}

}  // namespace

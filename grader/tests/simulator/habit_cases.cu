// What a kernel does as a whole, at one line or at many, in one launch or in several: it is told
// for what it is, and once.
#include "tests/simulator/case_kernels.h"

namespace {

// ---- Several threads write where one is enough. With one value no execution shows it.

__global__ void all_write_to_shared(float* y) {
  __shared__ float s;
  s = 1;  // here
  __syncthreads();
  if (blockIdx.x == 0) y[threadIdx.x] = s;
}
CASE(lanes_write_the_same_to_shared, "warning: shared-race",
     {"s is written by several lanes of a warp", "each time with the same value"}, {}, 1) {
  all_write_to_shared<<<1, 32>>>(zeros<float>());
}
CASE(threads_write_the_same_to_shared, "warning: shared-race",
     {"by several threads of a block", "same value", "the letter of CUDA's memory model"}, {}, 1) {
  all_write_to_shared<<<3, 128>>>(zeros<float>());
}

__global__ void all_write(float* y, float v) {
  y[blockIdx.x / 2] = v;  // here
  y[100] = 2 * v;
}
CASE(lanes_write_the_same, "warning: global-race", {"several lanes of a warp", "same value"}, {},
     1) {
  all_write<<<1, 32>>>(zeros<float>(), 3);
}
CASE(threads_write_the_same, "warning: global-race", {"several threads of a block"}, {}, 1) {
  all_write<<<1, 64>>>(zeros<float>(), 3);
}
CASE(blocks_write_the_same, "warning: global-race", {"threads of several blocks", "same value"}, {},
     1) {
  all_write<<<2, 1>>>(zeros<float>(), 3);
}
CASE(launches_write_the_same, "warning: global-race", {"same value"}, {}, 1) {
  for (const int blocks : {1, 2, 5}) all_write<<<blocks, 64>>>(zeros<float>(), 3);
}
CASE(write_what_was_there, "warning: global-race", {"same value"}, {}, 1) {
  all_write<<<1, 64>>>(zeros<float>(), 0);
}

__global__ void two_lines_write(int* y, int first, int second) {
  if (threadIdx.x == 0) y[0] = first;    // here
  if (threadIdx.x == 32) y[0] = second;  // second
}
CASE(two_lines_write_the_same, "warning: global-race", {"each time with the same value"}, {}, 1) {
  two_lines_write<<<1, 64>>>(zeros<int>(), 7, 7);
}
CASE(two_lines_write_other_values, "global-race", {"written twice by two threads of a block"},
     {{"here", 0}, {"second", 32}}, 1) {
  two_lines_write<<<1, 64>>>(zeros<int>(), 7, 8);
}

__global__ void write_own(int* y, int same_up_to) {
  y[0] = static_cast<int>(threadIdx.x) < same_up_to ? 5 : static_cast<int>(threadIdx.x);  // here
}
CASE(one_line_writes_other_values, "warning: global-race",
     {"which comes first is left to chance", "They write different values"}, {}, 1) {
  write_own<<<1, 64>>>(zeros<int>(), 0);
}
CASE(one_line_writes_other_values_at_last, "warning: global-race", {"They write different values"},
     {}, 1) {
  write_own<<<1, 64>>>(zeros<int>(), 63);
}
CASE(one_line_writes_the_same, "warning: global-race", {"same value"}, {}, 1) {
  write_own<<<1, 64>>>(zeros<int>(), 64);
}

/// A vector is looked at as a whole; and what a barrier orders is no race, whatever the values.
__global__ void write_vectors(float4* y, float w) {
  y[0] = {1, 2, 3, threadIdx.x < 40 ? 4 : w};  // here
}
CASE(vectors_of_the_same_values, "warning: global-race", {"same value"}, {}, 1) {
  write_vectors<<<1, 64>>>(zeros<float4>(), 4);
}
CASE(vectors_of_other_values, "warning: global-race", {"different values"}, {}, 1) {
  write_vectors<<<1, 64>>>(zeros<float4>(), 5);
}
__global__ void write_in_turns(int* y) {
  for (unsigned turn = 0; turn < 2; ++turn) {
    if (threadIdx.x / 32 == turn && threadIdx.x % 32 == 0) y[0] = 7;
    __syncthreads();
  }
}
CASE(writes_in_turns, "") {
  write_in_turns<<<1, 64>>>(zeros<int>());
}

/// The value that counts is the one right behind the write: ordered writes may follow.
__global__ void overwritten_afterwards(int* y) {
  __shared__ int s;
  s = 1;  // here
  __syncthreads();
  if (threadIdx.x == 0) s = 2;
  __syncthreads();
  y[threadIdx.x] = s;
}
CASE(same_value_overwritten_afterwards, "warning: shared-race", {"same value"}, {}, 1) {
  overwritten_afterwards<<<1, 64>>>(zeros<int>());
}
/// But who reads may come before them all.
__global__ void written_and_read(int* y) {
  __shared__ int s;
  if (threadIdx.x < 32) s = 1;                // writes
  if (threadIdx.x >= 32) y[threadIdx.x] = s;  // reads
}
CASE(same_value_is_read_too, "shared-race", {"written and read"}, {{"writes", 31}, {"reads", 32}}) {
  written_and_read<<<1, 64>>>(zeros<int>());
}

/// Or see that a write leaves what was there only because the same block is the last at both
/// counters.
template <bool kWaits>
__global__ void last_at_two_counters(unsigned* counters, float* y) {
  __shared__ bool is_last;
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) is_last = atomicAdd(&counters[i], 1u) == gridDim.x - 1;  // writes
    __syncthreads();
    if (is_last) y[i * 64 + threadIdx.x] = 1;  // reads
    if (kWaits) __syncthreads();
  }
}
CASE(same_value_is_read_before, "shared-race", {"is_last is read and written", "by two threads"},
     {{"reads", 63}, {"writes", 0}}) {
  last_at_two_counters<false><<<2, 64>>>(zeros<unsigned>(), zeros<float>());
}
CASE(read_before_a_barrier, "") {
  last_at_two_counters<true><<<2, 64>>>(zeros<unsigned>(), zeros<float>());
}

// ---- Threads return before a barrier of the others. From Volta on it waits for every thread, but
// for those that have exited (the programming guide, "Independent Thread Scheduling").

__global__ void return_before(float* y, unsigned n) {
  if (threadIdx.x >= n) return;
  y[threadIdx.x] = 1;
  if (n == 32) {
    __syncthreads();  // here
  }
  __syncthreads();  // here
  y[threadIdx.x] += 1;
}
CASE(part_of_a_warp_returns, "warning: early-return",
     {"Since Volta it waits only for those that have not returned"}, {}, 1) {
  return_before<<<1, 64>>>(zeros<float>(), 50);
}
CASE(whole_warps_return, "warning: early-return", {"Since Volta"}, {}, 1) {
  return_before<<<1, 128>>>(zeros<float>(), 64);
}
CASE(threads_return_in_several_launches, "warning: early-return", {"Since Volta"}, {}, 1) {
  for (const unsigned n : {50, 32, 1}) return_before<<<1, 64>>>(zeros<float>(), n);
}
CASE(nobody_returns_before, "") {
  return_before<<<1, 32>>>(zeros<float>(), 32);
}

// ---- A warp as if it ran in step, which none does since Volta ("Independent Thread Scheduling").
// That the array is volatile is no order and makes nothing atomic ("Volatile Qualifier").

__device__ void add_up_in_step(volatile float* s, unsigned i) {
  s[i] += s[i + 32];  // writes
  s[i] += s[i + 16];  // reads
  s[i] += s[i + 8];
  s[i] += s[i + 4];
  s[i] += s[i + 2];
  s[i] += s[i + 1];
}
__global__ void sum_in_step(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) add_up_in_step(s, threadIdx.x);  // calls
  if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
CASE(sum_of_a_warp_in_step, "shared-race",
     {"s[16] is read and written by two lanes of a warp", "since Volta each lane goes its own way"},
     {{"reads", 0, 0, "calls"}, {"writes", 16, 0, "calls"}}, 1) {
  sum_in_step<<<1, 64>>>(zeros<float>(), zeros<float>(1));
}
CASE(sums_of_warps_in_step, "shared-race", {"two lanes of a warp"},
     {{"reads", 0, 0, "calls"}, {"writes", 16, 0, "calls"}}, 1) {
  for (const int blocks : {1, 3}) sum_in_step<<<blocks, 64>>>(zeros<float>(), zeros<float>(1));
}

/// With a __syncwarp() between any two steps that share memory, as the guide asks for since.
__global__ void sum_with_syncwarp(const float* x, float* y) {
  __shared__ volatile float s[64];
  const unsigned i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
  if (i < 32) {
    float v = s[i] + s[i + 32];
    for (unsigned d = 16; d > 0; d /= 2) {
      __syncwarp();
      s[i] = v;
      __syncwarp();
      v += s[i + d];
    }
    if (i == 0) y[blockIdx.x] = v;
  }
}
CASE(sum_of_a_warp_with_syncwarp, "") {
  sum_with_syncwarp<<<3, 64>>>(zeros<float>(), zeros<float>(1));
}

}  // namespace

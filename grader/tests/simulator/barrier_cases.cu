// Block-wide barriers: threads that wait at different ones, that return early, that never come.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cassert>

#include "tests/simulator/case_kernels.h"

namespace {

__global__ void two_barriers(float* y, unsigned threads) {
  if (threadIdx.x < threads) {
    y[threadIdx.x] = 1;
    __syncthreads();  // low
  } else {
    y[threadIdx.x] = 2;
    __syncthreads();  // high
  }
}
CASE(barrier_in_both_branches, "barrier-divergence", {"wait at different barriers"},
     {{"low", 0}, {"high", 32}}) {
  two_barriers<<<1, 64>>>(zeros<float>(), 32);
}
CASE(branch_within_a_warp, "barrier-divergence", {"wait at different barriers"},
     {{"low", 0}, {"high", 5}}) {
  two_barriers<<<1, 64>>>(zeros<float>(), 5);
}
CASE(branch_that_all_take, "") {
  two_barriers<<<1, 64>>>(zeros<float>(), 64);
}

/// Not inlined into its kernel, as a function that calls itself is not either.
__device__ void groups_in_branches(float* y) {
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x < 32) {
    y[threadIdx.x] = 1;
    block.sync();  // low
  } else {
    block.sync();  // high
  }
}
__device__ void (*by_pointer)(float* y) = groups_in_branches;
__global__ void calls_by_pointer(float* y) {
  by_pointer(y);
}
CASE(barriers_of_a_group_in_both_branches, "barrier-divergence", {"wait at different barriers"},
     {{"low", 0}, {"high", 32}}) {
  calls_by_pointer<<<1, 64>>>(zeros<float>());
}
__device__ float group_sum(float v) {
  const auto tile =
      cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  if (threadIdx.x == 3) return v;
  v = cooperative_groups::reduce(tile, v, cooperative_groups::plus<float>());  // here
  return cooperative_groups::reduce(tile, v, cooperative_groups::plus<float>());
}
__device__ float (*sum_by_pointer)(float) = group_sum;
__global__ void sums_by_pointer(float* y) {
  y[threadIdx.x] = sum_by_pointer(y[threadIdx.x]);
}
CASE(reduction_of_a_group_without_a_lane, "warning: early-return", {"has returned before"}) {
  sums_by_pointer<<<1, 32>>>(zeros<float>());
}

__global__ void branch_by_block(float* y) {
  if (blockIdx.x == 0) {
    y[threadIdx.x] = 1;
    __syncthreads();
  } else {
    y[64 + threadIdx.x] = 2;
    __syncthreads();
  }
}
CASE(branch_by_block_index, "") {
  branch_by_block<<<2, 64>>>(zeros<float>());
}

__device__ float sum_of_warp(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);  // shuffles
  return v;
}
__global__ void barrier_in_a_branch(float* y) {
  __shared__ float partial[4];
  const float v = sum_of_warp(y[threadIdx.x]);
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = v;
    __syncthreads();  // waits
  }
  y[threadIdx.x] = sum_of_warp(threadIdx.x % 32 < 4 ? partial[threadIdx.x % 32] : 0);  // calls
}
CASE(barrier_for_some_threads, "deadlock", {"one of the two is in a branch"},
     {{"waits", 0}, {"shuffles", 1, 0, "calls"}}) {  // before the race that it causes
  barrier_in_a_branch<<<1, 128>>>(zeros<float>());
}

__global__ void return_early(float* y, unsigned n) {
  if (threadIdx.x >= n) return;
  y[threadIdx.x] = 1;
  __syncthreads();  // here
  y[threadIdx.x] = 2;
}
CASE(returned_before_barrier, "warning: early-return", {"returned before a __syncthreads()"}) {
  return_early<<<1, 64>>>(zeros<float>(), 50);
}
CASE(nobody_returned, "") {
  return_early<<<1, 64>>>(zeros<float>(), 64);
}

__global__ void whole_blocks_return(float* y, int rows) {
  const int row = blockIdx.x;
  if (row >= rows) return;
  y[row * 64 + threadIdx.x] = 1;
  __syncthreads();
  y[row * 64 + 63 - threadIdx.x] += 2;
}
CASE(blocks_beyond_the_rows_return, "") {
  whole_blocks_return<<<5, 64>>>(zeros<float>(), 3);
}

__global__ void trip_counts(float* y, int n) {
  __shared__ float s[64];
  for (int i = threadIdx.x; i < n; i += 64) {
    s[threadIdx.x] = y[i];
    __syncthreads();  // inside
    y[i] = s[threadIdx.x];
  }
  __syncthreads();  // after
}
CASE(loop_of_different_lengths, "barrier-divergence", {"wait at different barriers"},
     {{"inside", 0}, {"after", 40}}) {
  trip_counts<<<1, 64>>>(zeros<float>(), 64 + 40);
}
CASE(loop_of_equal_lengths, "") {
  trip_counts<<<1, 64>>>(zeros<float>(), 128);
}

__global__ void leave_and_skip(float* y, int rounds) {
  __shared__ float s[64];
  for (int round = 0; round < rounds; ++round) {
    s[threadIdx.x] = y[threadIdx.x] + round;
    __syncthreads();
    if (round % 2 == 1) goto next;  // all threads alike
    y[threadIdx.x] = s[63 - threadIdx.x];
  next:
    __syncthreads();
    if (round == 5) break;
  }
}
CASE(loops_left_by_all, "") {
  leave_and_skip<<<1, 64>>>(zeros<float>(), 9);
}

__global__ void count_votes(float* y) {
  const int i = threadIdx.x;
  assert(__syncthreads_count(i < 10) == 10);
  assert(__syncthreads_and(i >= 0) == 1 && __syncthreads_and(i > 0) == 0);
  assert(__syncthreads_or(i == 40) == 1 && __syncthreads_or(i < 0) == 0);
  y[i] = 1;
}
CASE(barrier_votes, "") {
  count_votes<<<1, 64>>>(zeros<float>());
}

__global__ void until_no_thread_goes_on(float* y) {
  __shared__ float s[64];
  float v = threadIdx.x;
  while (__syncthreads_or(v > 0.0f)) {
    s[threadIdx.x] = v;
    __syncthreads();
    y[threadIdx.x] += s[63 - threadIdx.x];
    v -= 8;
  }
}
CASE(loop_over_votes, "") {
  until_no_thread_goes_on<<<1, 64>>>(zeros<float>());
}

}  // namespace

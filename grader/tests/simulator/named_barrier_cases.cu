// Named barriers, at which some threads of a block meet.
#include <cassert>

#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace {

__device__ void meet(unsigned barrier, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");  // comes
}

/// Groups of 64 threads, each with a barrier of its own, from 1 on, and as many steps as its
/// number.
__global__ void sums_of_groups(float* y, unsigned first) {
  __shared__ float shares[4][2][64];
  const unsigned group = threadIdx.x / 64;
  const unsigned i = threadIdx.x % 64;
  for (unsigned step = 0; step <= group; ++step) {
    shares[group][step % 2][i] = static_cast<float>(step + 1);  // write
    if (first < 16) meet(first + group, 64);                    // meet
    y[threadIdx.x] += shares[group][step % 2][63 - i];          // read
  }
}
__global__ void groups_at_one(float* y) {
  __shared__ float shares[256];
  shares[threadIdx.x] = 1;
  meet(1, 64);  // one
  y[threadIdx.x] = shares[threadIdx.x ^ 63];
}
CASE(groups_with_barriers_of_their_own, "") {
  float* y = zeros<float>();
  sums_of_groups<<<1, 256>>>(y, 1);
  assert(at(y, 0) == 1 && at(y, 64) == 3 && at(y, 255) == 10);
}
CASE(groups_at_one_barrier, "invalid-barrier", {"Who meets whom at barrier number 1 is left"},
     {{"comes", 64, 0, "one"}}) {
  groups_at_one<<<1, 256>>>(zeros<float>());
}
CASE(groups_without_barriers, "shared-race", {"no __syncthreads() between"},
     {{"read", 31}, {"write", 32}}) {
  sums_of_groups<<<1, 256>>>(zeros<float>(), 16);
}
CASE(more_barriers_than_a_block_has, "invalid-barrier", {"number 0 to 15", "comes to number 16"},
     {{"comes", 192, 0, "meet"}}) {
  sums_of_groups<<<1, 256>>>(zeros<float>(), 13);
}

/// One warp hands on what it has made, and does not wait; the others take it.
template <bool arrives>
__global__ void hands_on(float* y) {
  __shared__ float made[32];
  if (threadIdx.x < 32) {
    made[threadIdx.x] = static_cast<float>(threadIdx.x);  // write
    if (arrives) asm volatile("bar.arrive 3, 128;" ::: "memory");
  } else {
    if (arrives) {
      meet(3, 128);  // meet
    } else {
      meet(3, 96);
    }
    y[threadIdx.x] = made[threadIdx.x % 32];  // read
  }
}
CASE(a_warp_that_arrives, "") {
  float* y = zeros<float>();
  hands_on<true><<<1, 128>>>(y);
  assert(at(y, 33) == 1 && at(y, 127) == 31);
}
CASE(a_warp_that_does_not, "shared-race", {"made["}, {{"write", 31}, {"read", 127}}) {
  hands_on<false><<<1, 128>>>(zeros<float>());
}
CASE(too_few_for_a_barrier, "deadlock", {"Barrier number 3 of the block waits for 32 more threads"},
     {{"comes", 32, 0, "meet"}}) {
  hands_on<true><<<1, 96>>>(zeros<float>());
}

__global__ void meets_by_numbers(float* y, unsigned threads) {
  __shared__ float made;
  if (threadIdx.x == 0) made = 1;
  meet(2, threadIdx.x < 32 ? 64 : threads);  // meet
  y[threadIdx.x] = made;
}
CASE(two_that_do_not_agree, "invalid-barrier", {"Threads that do not agree"},
     {{"comes", 32, 0, "meet"}}) {
  meets_by_numbers<<<1, 64>>>(zeros<float>(), 96);
}
CASE(a_part_of_a_warp_is_told, "invalid-barrier", {"whole warps"}, {{"comes", 32, 0, "meet"}}) {
  meets_by_numbers<<<1, 64>>>(zeros<float>(), 40);
}
CASE(a_warp_that_is_not_full, "") {
  float* y = zeros<float>();
  meets_by_numbers<<<1, 40>>>(y, 64);
  assert(at(y, 39) == 1);
}

/// A warp hands on one number after the other, and waits only where the next one would be lost.
__global__ void hands_on_and_on(float* y, bool waits) {
  __shared__ float made[32];
  for (int step = 0; step < 3; ++step) {
    if (threadIdx.x < 32) {
      made[threadIdx.x] = static_cast<float>(step);  // made
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      if (waits) meet(2, 64);
    } else {
      meet(1, 64);
      y[threadIdx.x] += made[threadIdx.x - 32];  // used
      if (waits) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
CASE(made_and_used_in_turn, "") {
  float* y = zeros<float>();
  hands_on_and_on<<<1, 64>>>(y, true);
  assert(at(y, 32) == 3 && at(y, 63) == 3);
}
CASE(made_before_it_was_used, "shared-race", {"made["}, {{"made", 31}, {"used", 63}}, 2) {
  hands_on_and_on<<<1, 64>>>(zeros<float>(), false);
}

/// All of the block, by a number, by the intrinsics, and by that of __syncthreads().
__global__ void all_of_the_block(float* y) {
  __shared__ float made[64];
  made[threadIdx.x] = 1;
  asm volatile("barrier.sync 5;" ::: "memory");
  float sum = made[63 - threadIdx.x];
  __barrier_sync(6);
  made[threadIdx.x] = 2;
  __barrier_sync_count(0, 64);
  sum += made[63 - threadIdx.x];
  __barrier_sync(0);
  made[threadIdx.x] = 3;
  meet(0, 64);
  y[threadIdx.x] = sum + made[63 - threadIdx.x];
}
CASE(all_of_a_block_by_number, "") {
  float* y = zeros<float>();
  all_of_the_block<<<1, 64>>>(y);
  assert(at(y, 5) == 6);
}

}  // namespace

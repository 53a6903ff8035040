// What lies between two accesses and orders them not: a shuffle, a fence, volatile.
#include "tests/simulator/case_kernels.h"

namespace {

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

}  // namespace

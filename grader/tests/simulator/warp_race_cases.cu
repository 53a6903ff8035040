// Races between the lanes of one warp, in shared memory.
#include "tests/simulator/case_kernels.h"

namespace {

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

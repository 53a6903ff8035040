// What the lanes of a warp do together: masks, and lanes that are not there.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cassert>

#include "tests/simulator/case_kernels.h"

namespace {

namespace cg = cooperative_groups;

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
  warp_calls<<<1, 64>>>(zeros<float>());
}

/// Behind a loop that some lanes leave earlier a GPU need not let them meet again.
__global__ void sum_of_who_is_there(const float* x, float* y, bool all) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < 40; i += 32) sum += x[i];
  const unsigned mask = all ? ~0u : __activemask();                      // asked
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(mask, sum, d);  // together
  y[threadIdx.x] = sum;
}
CASE(active_behind_a_loop, "warning: inactive-lane-read",
     {"does not take part (mask 0x000000ff)", "The mask is from __activemask()"},
     {{"together", 0}, {"asked", 0}}) {
  sum_of_who_is_there<<<1, 32>>>(counting(), zeros<float>(), false);
}
CASE(all_behind_a_loop, "") {
  sum_of_who_is_there<<<1, 32>>>(counting(), zeros<float>(), true);
}

/// Whoever is there, together: each lane in one group, and all have met again behind __syncwarp().
__global__ void groups_behind_a_loop(const float* x, int* count, float* y) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < 40; i += 32) sum += x[i];
  const auto together = cg::coalesced_threads();
  if (together.thread_rank() == 0) atomicAdd(count, static_cast<int>(together.num_threads()));
  y[threadIdx.x] = sum;
  __syncwarp();
  assert(__activemask() == ~0u);
  assert(*static_cast<volatile int*>(count) == 32);
}
CASE(any_groups_behind_a_loop, "") {
  groups_behind_a_loop<<<1, 32>>>(counting(), zeros<int>(1), zeros<float>());
}

__global__ void half_warp_of_a_small_block(float* y) {
  y[threadIdx.x] = __reduce_add_sync(~0u, 1u) == 16 && __ballot_sync(~0u, 1) == 0xffff;
}
CASE(full_mask_in_a_small_block, "") {
  half_warp_of_a_small_block<<<1, 16>>>(zeros<float>());
}

__global__ void tiles(float* y) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const float sum = cg::reduce(tile, static_cast<float>(threadIdx.x), cg::plus<float>());
  assert(sum == 8 * (threadIdx.x / 8 * 8) + 28);
  if (tile.meta_group_rank() % 2 == 0) {
    float v = tile.thread_rank();
    for (int d = 4; d > 0; d /= 2) v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0) y[tile.meta_group_rank()] = v;
    tile.sync();
  }
  if (threadIdx.x % 3 == 0) {
    auto together = cg::coalesced_threads();
    if (together.thread_rank() == 0) y[100 + threadIdx.x] = together.num_threads();
  }
}
CASE(cooperative_groups_tiles, "") {
  tiles<<<1, 96>>>(zeros<float>());
}

// ---- Masks

__global__ void not_in_mask(float* y) {
  y[threadIdx.x] = __shfl_sync(0xffff, 1.0f, 0);  // here
}
CASE(mask_leaves_out_caller, "bad-warp-mask",
     {"__shfl_sync with mask 0x0000ffff", "leaves out the lane that calls it, lane 16"},
     {{"here", 16}}) {
  not_in_mask<<<1, 32>>>(zeros<float>());
}

__global__ void odd_width(float* y) {
  y[0] = __shfl_sync(~0u, 1.0f, 0, 12);  // here
}
CASE(shuffle_width, "bad-warp-mask", {"has width 12"}, {{"here", 0}}) {
  odd_width<<<1, 32>>>(zeros<float>());
}

__global__ void different_masks(float* y) {
  y[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? ~0u : 0xffff8000u, 1.0f, 16);  // here
}
CASE(masks_differ, "bad-warp-mask", {"same operation with the same mask"},
     {{"here", 0}, {"here", 16}}) {
  different_masks<<<1, 32>>>(zeros<float>());
}

__global__ void different_operations(float* y) {
  if (threadIdx.x < 16) {
    y[threadIdx.x] = __shfl_sync(~0u, 1.0f, 0);  // shuffles
  } else {
    y[threadIdx.x] = __ballot_sync(~0u, 1);  // votes
  }
}
CASE(operations_differ, "bad-warp-mask", {"do not match"}, {{"shuffles", 0}, {"votes", 16}}) {
  different_operations<<<1, 32>>>(zeros<float>());
}

__global__ void one_mask_a_branch(float* y) {
  const bool low = threadIdx.x < 16;
  y[threadIdx.x] =
      low ? __shfl_xor_sync(0x0000ffffu, 1.0f, 8) : __shfl_xor_sync(0xffff0000u, 2.0f, 8);
  __syncwarp();
}
CASE(each_branch_its_mask, "") {
  one_mask_a_branch<<<1, 32>>>(zeros<float>());
}

__global__ void shuffle_in_branch(float* y) {
  float v = 1;
  if (threadIdx.x < 16) v = __shfl_down_sync(~0u, v, 8);  // shuffles
  __syncthreads();                                        // waits
  y[threadIdx.x] = v;
}
CASE(lanes_wait_elsewhere, "deadlock", {"in a warp operation whose mask names them too"},
     {{"waits", 16}, {"shuffles", 0}}) {
  shuffle_in_branch<<<1, 32>>>(zeros<float>());
}

// ---- Lanes that are not there. That their value is undefined matters only where it is used.

__global__ void beyond_mask(float* y, unsigned lanes) {
  if (threadIdx.x < lanes) y[threadIdx.x] = __shfl_down_sync((1u << lanes) - 1, 1.0f, 8);  // here
}
CASE(lane_not_taking_part, "warning: inactive-lane-read",
     {"a lane that does not take part (mask 0x0000ffff)"}, {{"here", 8}}) {
  beyond_mask<<<1, 32>>>(zeros<float>(), 16);
}

__global__ void return_before_sum(float* y, unsigned n) {
  if (threadIdx.x >= n) return;
  float v = y[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);  // here
  y[threadIdx.x] = v;
}
CASE(returned_lane_is_read, "warning: early-return",
     {"__shfl_xor_sync reads a lane whose thread has returned"}) {
  return_before_sum<<<1, 32>>>(zeros<float>(), 20);
}
CASE(whole_warps_returned, "") {
  return_before_sum<<<1, 128>>>(zeros<float>(), 64);
}

__global__ void return_before_tree(float* y, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  float v = y[threadIdx.x];
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d, 8);  // here
  y[threadIdx.x] = v;
}
CASE(returned_lane_in_the_tree, "warning: early-return", {"harmless only where"}) {
  return_before_tree<<<1, 32>>>(zeros<float>(), 13);
}
CASE(returned_segments, "") {
  return_before_tree<<<1, 32>>>(zeros<float>(), 16);
}

template <typename T>
__global__ void use_what_is_not_there(T* y, unsigned n) {
  if (threadIdx.x >= n) return;
  const T v = __shfl_sync(~0u, y[threadIdx.x], 31);  // here
  y[threadIdx.x] = v;
}
CASE(undefined_values_are_striking, "warning: early-return") {
  float* y = zeros<float>();
  use_what_is_not_there<<<1, 32>>>(y, 20);
  float host[32];
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  assert(host[0] != host[0] && host[31] == 0);  // NaN
}

__global__ void sum_of_partial_warp(float* y) {
  const unsigned mask = __ballot_sync(~0u, threadIdx.x < 20);
  if (threadIdx.x >= 20) return;
  float v = 0;
  for (int lane = 0; lane < 20; ++lane) v += __shfl_sync(mask, 1.0f, lane);
  y[threadIdx.x] = v;
}
CASE(partial_warp_with_its_mask, "") {
  sum_of_partial_warp<<<1, 32>>>(zeros<float>());
}

}  // namespace

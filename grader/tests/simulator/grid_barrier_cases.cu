// The barrier of a grid, in cooperative launches.
#include <cooperative_groups.h>

#include <cassert>

#include "tests/simulator/case_kernels.h"

namespace cg = cooperative_groups;

namespace {

template <typename... Parameters, typename... Arguments>
__forceinline__ cudaError_t launch_together(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                            Arguments... arguments) {
  void* pointers[] = {&arguments...};
  return cudaLaunchCooperativeKernel(kernel, grid, block, pointers);
}

template <typename T>
T at(const T* device, unsigned index) {
  T value = {};
  cudaMemcpy(&value, device + index, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

/// Each thread writes a number; after the barrier it reads that of another block.
template <int kBarriers>
__global__ void exchange(float* x, float* y) {
  const cg::grid_group grid = cg::this_grid();
  const auto threads = static_cast<unsigned>(grid.num_threads());
  const auto me = static_cast<unsigned>(grid.thread_rank());
  x[me] = static_cast<float>(me);  // write
  for (int i = 0; i < kBarriers; ++i) grid.sync();
  y[me] = x[(me + blockDim.x) % threads];  // read
}
CASE(after_grid_sync_all_is_there, "") {
  float* y = zeros<float>(1);
  launch_together(exchange<1>, 8, 64, zeros<float>(), y);
  assert(at(y, 0) == 64 && at(y, 511) == 63);
}
CASE(several_barriers, "") {
  launch_together(exchange<3>, 8, 64, zeros<float>(), zeros<float>(1));
}
CASE(one_block_alone, "") {
  launch_together(exchange<1>, 1, 64, zeros<float>(), zeros<float>(1));
}
CASE(no_grid_sync, "global-race", {"by threads of two blocks, with no grid.sync() between"},
     {{"read", 0, 0}, {"write", 0, 1}}) {
  launch_together(exchange<0>, 8, 64, zeros<float>(), zeros<float>(1));
}
CASE(by_launch_attribute, "") {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {8, 64, 0, nullptr, &attribute, 1};
  cudaLaunchKernelEx(&config, exchange<1>, zeros<float>(), zeros<float>(1));
}

__global__ void syncs(float* y) {
  y[threadIdx.x + blockDim.x * blockIdx.x] = cg::this_grid().is_valid();
  cg::this_grid().sync();  // here
}
CASE(an_ordinary_launch, "invalid-launch", {"needs a cooperative launch"}) {
  syncs<<<2, 32>>>(zeros<float>());
}
CASE(attribute_that_says_no, "invalid-launch", {"needs a cooperative launch"}) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  cudaLaunchConfig_t config = {2, 32, 0, nullptr, &attribute, 1};
  cudaLaunchKernelEx(&config, syncs, zeros<float>());
}
__global__ void last_block_counts(unsigned* count) {
  if (threadIdx.x == 0) atomicAdd(&count[0], 1u);
  cg::this_grid().sync();
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) count[1] = count[0];
}
CASE(as_many_blocks_as_fit, "") {
  int fit = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, last_block_counts, 1024, 0);
  auto* count = zeros<unsigned>();
  launch_together(last_block_counts, 132u * static_cast<unsigned>(fit), 1024, count);
  assert(fit == 2 && at(count, 1) == 264);
}
CASE(one_block_more, "invalid-launch", {"has 265 blocks", "holds 2 on each", "TooLarge"}) {
  float* y = zeros<float>();
  void* pointers[] = {&y};
  const cudaError_t error = cudaLaunchCooperativeKernel((void*)syncs, 265, 1024, pointers);  // here
  assert(error == cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
}

// ---- Who does not come

__global__ void last_block_leaves(float* y) {
  if (blockIdx.x == gridDim.x - 1) {
    y[blockIdx.x] = 1;  // leaves
    return;
  }
  cg::this_grid().sync();  // waits
}
CASE(a_block_that_leaves, "deadlock", {"have ended without it (1)"},
     {{"waits", 0, 0}, {"leaves", 0, 3}}) {
  launch_together(last_block_leaves, 4, 32, zeros<float>());
}
__global__ void skips(float* y, unsigned first, unsigned last) {
  const bool works = threadIdx.x >= first && threadIdx.x < last;
  y[threadIdx.x + blockDim.x * blockIdx.x] = works;  // leaves
  if (!works) return;
  cg::this_grid().sync();  // here
}
CASE(thread_0_that_leaves, "barrier-divergence",
     {"Thread 0 of the block has returned", "this block goes on without them"},
     {{"here", 1}, {"leaves", 0}}) {
  launch_together(skips, 4, 64, zeros<float>(), 1u, 64u);
}
CASE(other_threads_that_leave, "warning: early-return", {"before a grid.sync()"}) {
  launch_together(skips, 4, 64, zeros<float>(), 0u, 63u);
}
CASE(all_stay, "") {
  launch_together(skips, 4, 64, zeros<float>(), 0u, 64u);
}

__global__ void in_branches(float* y, unsigned threads, bool by_block) {
  y[threadIdx.x + blockDim.x * blockIdx.x] = 1;
  if ((by_block ? blockIdx.x * blockDim.x : threadIdx.x) < threads) {
    cg::this_grid().sync();  // low
  } else {
    cg::this_grid().sync();  // high
  }
}
CASE(branch_within_a_block, "barrier-divergence", {"the same grid.sync()"},
     {{"low", 0}, {"high", 32}}) {
  launch_together(in_branches, 4, 64, zeros<float>(), 32u, false);
}
CASE(branch_between_blocks, "") {
  launch_together(in_branches, 4, 64, zeros<float>(), 64u, true);
}

__global__ void two_kinds(float* y, unsigned threads) {
  y[threadIdx.x] += blockIdx.x == 0;
  if (threadIdx.x < threads) {
    __syncthreads();  // own
  } else {
    cg::this_grid().sync();  // grid
  }
}
CASE(two_kinds_of_barriers, "barrier-divergence", {"and others at a grid.sync()"},
     {{"own", 0}, {"grid", 32}}) {
  launch_together(two_kinds, 1, 64, zeros<float>(), 32u);
}

__global__ void waits_for_a_flag(int* flag) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) continue;  // here
  }
  cg::this_grid().sync();
  if (threadIdx.x == 0) atomicExch(flag, 1);
}
CASE(a_flag_behind_the_barrier, "deadlock", {"3 blocks wait at a grid.sync()"}) {
  launch_together(waits_for_a_flag, 4, 32, zeros<int>());
}

// ---- What it orders

__global__ void shared_is_kept(float* y) {
  __shared__ float own[64];
  own[threadIdx.x] = static_cast<float>(blockIdx.x);
  cg::this_grid().sync();
  y[blockIdx.x * 64 + threadIdx.x] = own[63 - threadIdx.x];
}
CASE(shared_memory_is_kept_over_it, "") {
  float* y = zeros<float>();
  launch_together(shared_is_kept, 8, 64, y);
  assert(at(y, 7 * 64) == 7 && at(y, 0) == 0);
}
__global__ void reuses(float* x, float* y, bool twice) {
  const unsigned next = (blockIdx.x + 1) % gridDim.x;
  for (int turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) x[blockIdx.x] = static_cast<float>(turn);  // write
    cg::this_grid().sync();
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[next];  // read
    if (twice) cg::this_grid().sync();
  }
}
CASE(the_next_turn_too_early, "global-race", {"no grid.sync() between"},
     {{"read", 1, 0}, {"write", 0, 1}}) {
  launch_together(reuses, 4, 32, zeros<float>(), zeros<float>(1), false);
}
CASE(two_barriers_a_turn, "") {
  launch_together(reuses, 4, 32, zeros<float>(), zeros<float>(1), true);
}

}  // namespace

// Asynchronous copies of groups and of pipelines: cooperative_groups::memcpy_async() and
// cuda::memcpy_async().
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>

#include "tests/simulator/case_kernels.h"

namespace {

namespace cg = cooperative_groups;

constexpr int kThreads = 64;

// ---- cooperative_groups

template <typename T>
__global__ void block_copy(const T* x, T* y, int count, bool wait) {
  __shared__ T s[1024];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof(T) * count);  // copies
  if (wait) {
    cg::wait(block);
  } else {
    block.sync();
  }
  for (int i = threadIdx.x; i < count; i += kThreads) y[i] = s[count - 1 - i];  // here
}
CASE(group_copy_of_floats, "") {
  float* y = zeros<float>();
  block_copy<<<1, kThreads>>>(counting<float>(), y, 1000, true);
  expect(y, 1000, 999, -1);
}
CASE(group_copy_of_halves, "") {
  __half* y = zeros<__half>();
  block_copy<<<1, kThreads>>>(counting<__half>(), y, 1000, true);
  expect(y, 1000, 999, -1);
}
CASE(group_copy_of_an_odd_number_of_halves, "") {
  __half* y = zeros<__half>();
  block_copy<<<1, kThreads>>>(counting<__half>(), y, 999, true);
  expect(y, 999, 998, -1);
}
CASE(group_copy_without_wait, "copy-not-awaited", {"a barrier waits for no copy"}) {
  block_copy<<<1, kThreads>>>(counting<float>(), zeros<float>(), 1000, false);
}
CASE(group_copy_of_halves_without_wait, "copy-not-awaited") {
  block_copy<<<1, kThreads>>>(counting<__half>(), zeros<__half>(), 999, false);
}

/// Two stages by wait_prior<1>(); `early`: the slot of the batch that it leaves is used.
__global__ void group_stages(const float* x, float* y, int early) {
  __shared__ float slots[2][kThreads];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, slots[0], sizeof slots[0] / sizeof(float), x, 1000);
  float sum = 0;
  for (int step = 0; step < 4; ++step) {
    if (step < 3) {
      cg::memcpy_async(block, slots[(step + 1) % 2], x + (step + 1) * kThreads,
                       sizeof(float) * kThreads);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    sum += slots[(step + early) % 2][kThreads - 1 - threadIdx.x];  // here
    block.sync();
  }
  y[threadIdx.x] = sum;
}
CASE(group_copies_in_two_stages, "") {
  float* y = zeros<float>();
  group_stages<<<1, kThreads>>>(counting<float>(), y, 0);
  expect(y, kThreads, 4 * 63 + 6 * 64, -4);
}
CASE(group_copies_one_stage_early, "copy-not-awaited", {"leaves the last batch under way"}) {
  group_stages<<<1, kThreads>>>(counting<float>(), zeros<float>(), 1);
}

/// Each warp copies for itself, and waits for itself.
__global__ void warp_copy(const float* x, float* y, bool of_block) {
  __shared__ __align__(16) float s[kThreads];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned first = warp.meta_group_rank() * 32;
  cg::memcpy_async(warp, s + first, x + first, cuda::aligned_size_t<16>(128));  // copies
  cg::wait(warp);
  y[threadIdx.x] =
      s[of_block ? kThreads - 1 - threadIdx.x : first + 31 - threadIdx.x % 32];  // here
}
CASE(group_copy_of_a_warp, "") {
  float* y = zeros<float>();
  warp_copy<<<1, kThreads>>>(counting<float>(), y, false);
  expect(y, 32, 31, -1);
  expect(y + 32, 32, 63, -1);
}
CASE(group_copy_of_another_warp, "shared-race", {"no __syncthreads() between"}) {
  warp_copy<<<1, kThreads>>>(counting<float>(), zeros<float>(), true);
}

/// Other directions are ordinary copies, and there at once for the thread.
__global__ void back(const float* x, float* y) {
  __shared__ float s[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  s[threadIdx.x] = x[threadIdx.x];
  block.sync();
  cg::memcpy_async(block, y, s, sizeof s);
  cg::wait(block);
}
CASE(group_copy_to_global_memory, "") {
  float* y = zeros<float>();
  back<<<1, kThreads>>>(counting<float>(), y);
  expect(y, kThreads, 0, 1);
}

// ---- cuda::pipeline of a thread

__global__ void thread_pipeline(const float4* x, float* y, int steps, bool wait) {
  constexpr int kStages = 3;
  __shared__ float4 slots[kStages][kThreads];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  const auto begin = [&](int step) {
    pipe.producer_acquire();
    if (step < steps) {
      cuda::memcpy_async(&slots[step % kStages][threadIdx.x], &x[step * kThreads + threadIdx.x],
                         cuda::aligned_size_t<16>(16), pipe);
    }
    pipe.producer_commit();
  };
  for (int step = 0; step < kStages - 1; ++step) begin(step);
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    begin(step + kStages - 1);
    if (wait) pipe.consumer_wait();
    sum += slots[step % kStages][threadIdx.x].x;  // here
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}
CASE(pipeline_of_a_thread, "") {
  float* y = zeros<float>();
  thread_pipeline<<<1, kThreads>>>(reinterpret_cast<float4*>(counting<float>()), y, 4, true);
  expect(y, kThreads, 6 * 256, 16);
}
CASE(pipeline_without_consumer_wait, "copy-not-awaited", {"The thread has not waited for it."}) {
  thread_pipeline<<<1, kThreads>>>(reinterpret_cast<float4*>(counting<float>()), zeros<float>(), 4,
                                   false);
}

__global__ void prior(const __half* x, __half* y, bool early) {
  __shared__ __half s[2][kThreads];
  auto pipe = cuda::make_pipeline();
  const auto block = cg::this_thread_block();
  for (int stage = 0; stage < 2; ++stage) {
    cuda::memcpy_async(block, s[stage], x + stage * kThreads, sizeof s[stage], pipe);
    pipe.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<1>(pipe);
  block.sync();
  y[threadIdx.x] = s[early][kThreads - 1 - threadIdx.x];  // here
  pipe.consumer_wait();
}
CASE(pipeline_that_waits_for_all_but_one, "") {
  __half* y = zeros<__half>();
  prior<<<1, kThreads>>>(counting<__half>(), y, false);
  expect(y, kThreads, 63, -1);
}
CASE(pipeline_whose_last_batch_is_read, "copy-not-awaited", {"leaves the last batch under way"}) {
  prior<<<1, kThreads>>>(counting<__half>(), zeros<__half>(), true);
}

}  // namespace

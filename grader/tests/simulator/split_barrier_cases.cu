// Barriers in shared memory (cuda::barrier), and pipelines of a block that are made of them.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "tests/simulator/case_kernels.h"

namespace {

namespace cg = cooperative_groups;

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 64;

// ---- Arriving and waiting

enum Fault { kNone, kNoInit, kNoSync, kTooMany, kTooFew, kNoWait };

__global__ void exchange(const float* x, float* y, Fault fault) {
  __shared__ Barrier bar;
  __shared__ float s[kThreads];
  if (threadIdx.x == 0 && fault != kNoInit) {
    init(&bar, kThreads - (fault == kTooMany) + (fault == kTooFew));  // inits
  }
  if (fault != kNoSync) __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];                                               // writes
  Barrier::arrival_token token = bar.arrive();                                   // arrives
  if (fault != kNoWait) bar.wait(static_cast<Barrier::arrival_token&&>(token));  // waits
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];                                // reads
}
CASE(split_barrier, "") {
  float* y = zeros<float>();
  exchange<<<1, kThreads>>>(counting(), y, kNone);
  expect(y, kThreads, 63, -1);
}
CASE(split_barrier_without_init, "uninitialised-shared", {"that no thread of the block has init"},
     {{"arrives", 63}}) {
  exchange<<<1, kThreads>>>(counting(), zeros<float>(), kNoInit);
}
CASE(split_barrier_used_before_it_is_made, "shared-race", {"bar is written and updated atomically"},
     {{"inits", 0}, {"arrives", 32}}) {
  exchange<<<1, kThreads>>>(counting(), zeros<float>(), kNoSync);
}
// The last one arrives in the next phase already.
CASE(split_barrier_that_expects_fewer, "deadlock", {"expects 62 more arrivals, which never come"},
     {{"waits", 62}}) {
  exchange<<<1, kThreads>>>(counting(), zeros<float>(), kTooMany);
}
CASE(split_barrier_that_expects_more, "deadlock", {"expects one more arrival, which never comes"},
     {{"waits", 0}}) {
  exchange<<<1, kThreads>>>(counting(), zeros<float>(), kTooFew);
}
CASE(split_barrier_not_awaited, "shared-race", {"no __syncthreads() between"},
     {{"reads", 63}, {"writes", 0}}) {
  exchange<<<1, kThreads>>>(counting(), zeros<float>(), kNoWait);
}

__global__ void counts_twice() {
  __shared__ Barrier bar;
  init(&bar, 1);
  (void)bar.arrive(2);  // here
}
CASE(more_arrivals_than_a_phase_has, "invalid-barrier", {"to expect, 1."}) {
  counts_twice<<<1, 1>>>();
}

__global__ void expects_nobody() {
  __shared__ Barrier bar;
  init(&bar, 0);  // here
}
CASE(split_barrier_for_nobody, "invalid-barrier", {"expects 0 arrivals in each phase"}) {
  expects_nobody<<<1, 1>>>();
}

/// A token is good until the next phase is complete.
__global__ void tokens(int arrivals) {
  __shared__ Barrier bar;
  init(&bar, 1);
  Barrier::arrival_token token = bar.arrive();
  for (int i = 1; i < arrivals; ++i) bar.arrive_and_wait();
  bar.wait(static_cast<Barrier::arrival_token&&>(token));  // here
}
CASE(token_of_the_last_phase, "") {
  tokens<<<1, 1>>>(1);
}
CASE(token_of_an_old_phase, "invalid-barrier", {"a token that is not of the barrier's present"}) {
  tokens<<<1, 1>>>(3);
}

__global__ void no_token() {
  __shared__ Barrier bar;
  init(&bar, 1);
  Barrier::arrival_token token;
  bar.wait(static_cast<Barrier::arrival_token&&>(token));  // here
}
CASE(token_of_no_arrival, "invalid-barrier", {"what arrive() of this barrier has given last"}) {
  no_token<<<1, 1>>>();
}

/// Thread 0 writes, and the others wait for the phase by its parity.
__global__ void by_parity(const float* x, float* y, bool parity) {
  __shared__ Barrier bar;
  __shared__ float s;
  if (threadIdx.x == 0) init(&bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    s = x[7];
    (void)bar.arrive();  // arrives
  }
  bar.wait_parity(parity);  // waits
  y[threadIdx.x] = s;
}
CASE(split_barrier_by_parity, "") {
  float* y = zeros<float>();
  by_parity<<<1, kThreads>>>(counting(), y, false);
  expect(y, kThreads, 7, 0);
}
// The others go on at once, and thread 0 waits for a second phase.
CASE(split_barrier_by_the_wrong_parity, "deadlock", {"one more arrival, which never comes"},
     {{"waits", 0}}) {
  by_parity<<<1, kThreads>>>(counting(), zeros<float>(), true);
}

/// All wait for the phase in which they arrive afterwards.
__global__ void waits_before_it_arrives(bool first) {
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  if (!first) (void)bar.arrive();
  bar.wait_parity(false);  // here
  if (first) (void)bar.arrive();
}
CASE(arrival_before_the_wait, "") {
  waits_before_it_arrives<<<1, kThreads>>>(false);
}
CASE(arrival_after_the_wait, "deadlock", {"expects 64 more arrivals, which never come"}) {
  waits_before_it_arrives<<<1, kThreads>>>(true);
}

/// Warp 0 writes, all others read: again and again, by two barriers.
__global__ void handed_on(const float* x, float* y, int steps, bool wait_until_read) {
  __shared__ Barrier written, read;
  __shared__ float s[32];
  if (threadIdx.x == 0) {
    init(&written, 32);
    init(&read, static_cast<int>(blockDim.x) - 32);
  }
  __syncthreads();
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x < 32) {
      if (wait_until_read) read.wait_parity(step % 2 == 0);
      s[threadIdx.x] = x[step * 32 + threadIdx.x];
      (void)written.arrive();
    } else {
      written.wait_parity(step % 2 != 0);  // here
      sum += s[31 - threadIdx.x % 32];
      (void)read.arrive();
    }
  }
  y[threadIdx.x] = sum;
}
CASE(handed_on_by_two_barriers, "") {
  float* y = zeros<float>();
  handed_on<<<1, 96>>>(counting(), y, 4, true);
  expect(y + 32, 32, 4 * 31 + 6 * 32, -4);
  expect(y + 64, 32, 4 * 31 + 6 * 32, -4);
}
CASE(handed_on_before_it_was_read, "deadlock", {"A barrier in shared memory expects"}) {
  handed_on<<<1, 64>>>(counting(), zeros<float>(), 4, false);
}

/// One lane speaks for its warp: what the others have written comes by __syncwarp().
__global__ void by_a_leader(const float* x, float* y, bool sync) {
  __shared__ Barrier bar;
  __shared__ float s[kThreads];
  if (threadIdx.x == 0) init(&bar, kThreads / 32);
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];
  if (sync) __syncwarp();
  if (threadIdx.x % 32 == 0) bar.arrive_and_wait();
  __syncwarp();
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // here
}
CASE(arrival_by_a_leader, "") {
  float* y = zeros<float>();
  by_a_leader<<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, 63, -1);
}
CASE(arrival_by_a_leader_too_early, "shared-race") {
  by_a_leader<<<1, kThreads>>>(counting(), zeros<float>(), false);
}

__global__ void drops_out(const float* x, float* y, bool drops) {
  __shared__ Barrier bar;
  __shared__ float s[kThreads];
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x >= 32) {
    if (drops) bar.arrive_and_drop();
    return;
  }
  bar.arrive_and_wait();  // waits
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];
  bar.arrive_and_wait();
}
CASE(threads_that_drop_out, "") {
  float* y = zeros<float>();
  drops_out<<<1, kThreads>>>(counting(), y, true);
  expect(y, 32, 63, -1);
}
CASE(threads_that_leave_without_a_word, "deadlock", {"expects 32 more arrivals"}, {{"waits", 0}}) {
  drops_out<<<1, kThreads>>>(counting(), zeros<float>(), false);
}

// ---- Copies that land at a barrier

__global__ void copied(const float* x, float* y, bool wait, bool barrier) {
  __shared__ Barrier bar;
  __shared__ __align__(16) float s[kThreads];
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(sizeof s), bar);  // copies
  Barrier::arrival_token token = bar.arrive();
  if (wait) bar.wait(static_cast<Barrier::arrival_token&&>(token));
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // here
}
CASE(copy_that_lands_at_a_barrier, "") {
  float* y = zeros<float>();
  copied<<<1, kThreads>>>(counting(), y, true, false);
  expect(y, kThreads, 63, -1);
}
CASE(copy_at_a_barrier_not_awaited, "shared-race", {"no __syncthreads() between"}) {
  copied<<<1, kThreads>>>(counting(), zeros<float>(), false, false);
}
/// Only the first thread waits, and the others read as soon as all copies have begun.
__global__ void leader_waits(const float* x, float* y, bool others_too) {
  __shared__ Barrier bar;
  __shared__ __align__(16) float s[kThreads];
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(sizeof s), bar);  // copies
  Barrier::arrival_token token = bar.arrive();
  __syncthreads();
  if (others_too || threadIdx.x == 0) bar.wait(static_cast<Barrier::arrival_token&&>(token));
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // here
}
CASE(copy_at_a_barrier_awaited_by_each_thread, "") {
  float* y = zeros<float>();
  leader_waits<<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, 63, -1);
}
CASE(copy_at_a_barrier_awaited_by_one_thread, "copy-not-awaited",
     {"lands when a phase of its barrier is complete"}) {
  leader_waits<<<1, kThreads>>>(counting(), zeros<float>(), false);
}
CASE(copy_at_a_barrier_and_another_barrier, "copy-not-awaited",
     {"lands when a phase of its barrier is complete, and nobody has waited for that"}) {
  copied<<<1, kThreads>>>(counting(), zeros<float>(), false, true);
}

// ---- Pipelines of a block

struct Faults {
  bool no_wait = false, no_release = false, no_acquire = false, one_early = false;
};

/// All threads produce and consume.
template <int stages>
__global__ void unified(const float* x, float* y, int steps, Faults faults) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ float slots[stages][kThreads];
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int begun = 0;
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    for (; begun < steps && begun < step + stages; ++begun) {
      if (!faults.no_acquire) pipe.producer_acquire();
      cuda::memcpy_async(block, slots[begun % stages], x + begun * kThreads, sizeof slots[0], pipe);
      pipe.producer_commit();
    }
    if (!faults.no_wait) pipe.consumer_wait();
    sum += slots[(step + faults.one_early) % stages][kThreads - 1 - threadIdx.x];  // here
    if (!faults.no_release) pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}
CASE(pipeline_of_a_block_with_two_stages, "") {
  float* y = zeros<float>();
  unified<2><<<1, kThreads>>>(counting(), y, 8, Faults());
  expect(y, kThreads, 8 * 63 + 28 * 64, -8);
}
CASE(pipeline_of_a_block_with_four_stages, "") {
  float* y = zeros<float>();
  unified<4><<<1, kThreads>>>(counting(), y, 8, Faults());
  expect(y, kThreads, 8 * 63 + 28 * 64, -8);
}
CASE(pipeline_of_a_block_used_one_stage_early, "shared-race") {
  Faults faults;
  faults.one_early = true;
  unified<4><<<1, kThreads>>>(counting(), zeros<float>(), 8, faults);
}
CASE(pipeline_of_a_block_not_acquired, "shared-race") {
  Faults faults;
  faults.no_acquire = true;
  unified<2><<<1, kThreads>>>(counting(), zeros<float>(), 8, faults);
}
CASE(pipeline_of_a_block_not_awaited, "shared-race") {
  Faults faults;
  faults.no_wait = true;
  unified<4><<<1, kThreads>>>(counting(), zeros<float>(), 8, faults);
}

/// The first warp produces, the others consume.
template <bool by_role>
__global__ void specialised(const float* x, float* y, int steps, Faults faults) {
  constexpr int kStages = 3, kTile = 128;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  __shared__ __align__(16) float slots[kStages][kTile];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const bool produces = threadIdx.x < 32;
  auto pipe = [&] {
    if constexpr (by_role) {
      return cuda::make_pipeline(
          block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    } else {
      return cuda::make_pipeline(block, &state, size_t{32});
    }
  }();
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    if (produces) {
      if (!faults.no_acquire) pipe.producer_acquire();  // acquires
      cuda::memcpy_async(warp, slots[step % kStages], x + step * kTile,
                         cuda::aligned_size_t<16>(sizeof slots[0]), pipe);
      pipe.producer_commit();
    } else {
      if (!faults.no_wait) pipe.consumer_wait();               // waits for a stage
      sum += slots[step % kStages][kTile + 31 - threadIdx.x];  // here
      if (!faults.no_release) pipe.consumer_release();
    }
  }
  if (!produces) y[threadIdx.x - 32] = sum;
}
CASE(pipeline_with_producers_and_consumers, "") {
  float* y = zeros<float>();
  specialised<false><<<1, 160>>>(counting(), y, 7, Faults());
  expect(y, 128, 7 * 127 + 21 * 128, -7);
}
CASE(pipeline_with_roles, "") {
  float* y = zeros<float>();
  specialised<true><<<1, 160>>>(counting(), y, 7, Faults());
  expect(y, 128, 7 * 127 + 21 * 128, -7);
}
// Who does not wait runs ahead by several phases, and is missed in others.
CASE(pipeline_whose_consumers_do_not_wait, "deadlock", {"A barrier in shared memory expects"},
     {{"acquires", 0}}) {
  Faults faults;
  faults.no_wait = true;
  specialised<false><<<1, 160>>>(counting(), zeros<float>(), 7, faults);
}
CASE(pipeline_whose_consumers_do_not_release, "deadlock", {"expects 128 more arrivals"},
     {{"acquires", 0}}) {
  Faults faults;
  faults.no_release = true;
  specialised<false><<<1, 160>>>(counting(), zeros<float>(), 7, faults);
}
CASE(pipeline_whose_producers_do_not_acquire, "deadlock", {"A barrier in shared memory expects"},
     {{"waits for a stage", 32}}) {
  Faults faults;
  faults.no_acquire = true;
  specialised<false><<<1, 160>>>(counting(), zeros<float>(), 7, faults);
}

}  // namespace

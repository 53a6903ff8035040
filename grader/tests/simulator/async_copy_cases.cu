// Asynchronous copies of a thread's own: what is used too early, and what right rings of slots look
// like.
#include <cuda_pipeline.h>

#include "tests/simulator/case_kernels.h"

namespace {

constexpr int kThreads = 64;

// ---- One batch

enum Part { kCommit = 1, kWait = 2, kBarrier = 4, kAll = 7 };

__global__ void own_element(const float* x, float* y, int parts) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // copies
  if (parts & kCommit) __pipeline_commit();
  if (parts & kWait) __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];  // reads
}
CASE(copy_awaited, "") {
  float* y = zeros<float>();
  own_element<<<1, kThreads>>>(counting(), y, kAll);
  expect(y, kThreads, 0, 1);
}
CASE(copy_without_wait, "copy-not-awaited",
     {"s[0] is read before the asynchronous copy to it is sure to have landed",
      "The thread has not waited for it."},
     {{"copies", 0}, {"reads", 0}}) {
  own_element<<<1, kThreads>>>(counting(), zeros<float>(), kCommit);
}
CASE(copy_without_commit, "copy-not-awaited",
     {"covers what was committed before it, and this copy was not"},
     {{"copies", 0}, {"reads", 0}}) {
  own_element<<<1, kThreads>>>(counting(), zeros<float>(), kWait);
}
CASE(copy_with_neither, "copy-not-awaited", {"has not waited for it, nor committed it"},
     {{"copies", 0}, {"reads", 0}}) {
  own_element<<<1, kThreads>>>(counting(), zeros<float>(), 0);
}

__global__ void of_two_sizes(const float* x, float* y) {
  __shared__ alignas(8) float s[2 * kThreads];
  const size_t bytes = threadIdx.x % 2 == 0 ? 4 : 8;
  __pipeline_memcpy_async(&s[2 * threadIdx.x], &x[2 * threadIdx.x], bytes);  // copies
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[2 * (kThreads - 1 - threadIdx.x)];  // reads
}
CASE(copies_of_two_sizes_at_one_place, "shared-race", {"no __syncthreads() between"},
     {{"reads", 31, 0, nullptr, "reads 4 bytes"}, {"copies", 32, 0, nullptr, "writes 4 bytes"}}) {
  of_two_sizes<<<1, kThreads>>>(counting(), zeros<float>());
}

__global__ void late_commit(const float* x, float* y) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // copies
  __pipeline_wait_prior(0);
  __pipeline_commit();
  y[threadIdx.x] = s[threadIdx.x];  // reads
}
CASE(copy_committed_after_the_wait, "copy-not-awaited", {"a __pipeline_commit() must come between"},
     {{"copies", 0}, {"reads", 0}}) {
  late_commit<<<1, kThreads>>>(counting(), zeros<float>());
}

__global__ void reversed(const float* x, float* y, int parts) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // copies
  __pipeline_commit();
  if (parts & kWait) __pipeline_wait_prior(0);
  if (parts & kBarrier) __syncthreads();
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // reads
}
CASE(copy_of_another_thread, "") {
  float* y = zeros<float>();
  reversed<<<1, kThreads>>>(counting(), y, kAll);
  expect(y, kThreads, kThreads - 1, -1);
}
CASE(copy_of_another_without_barrier, "shared-race", {"no __syncthreads() between"},
     {{"reads", 31}, {"copies", 32}}) {
  reversed<<<1, kThreads>>>(counting(), zeros<float>(), kWait);
}
CASE(copy_of_another_without_wait, "copy-not-awaited",
     {"The thread that began it has not waited for it, and a barrier waits for no copy"},
     {{"copies", 0}, {"reads", 63}}) {
  reversed<<<1, kThreads>>>(counting(), zeros<float>(), kBarrier);
}

/// The wait comes behind the barrier: nothing orders it before the others' reads.
__global__ void barrier_before_wait(const float* x, float* y) {
  __shared__ float s[kThreads];
  if (threadIdx.x == 0) {
    for (int i = 0; i < kThreads; ++i) __pipeline_memcpy_async(&s[i], &x[i], 4);  // copies
  }
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];  // reads
}
CASE(copy_awaited_after_the_barrier, "copy-not-awaited", {"a barrier waits for no copy"},
     {{"copies", 0}, {"reads", 63}}) {
  barrier_before_wait<<<1, kThreads>>>(counting(), zeros<float>());
}

// ---- Overwritten while it is under way

__global__ void overwritten(float* x, float* y, bool source, bool wait_first) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // copies
  __pipeline_commit();
  if (wait_first) __pipeline_wait_prior(0);
  float* const target = source ? x : s;
  target[threadIdx.x] = 1;  // writes
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(copy_whose_source_is_overwritten, "copy-overwritten",
     {"is written before the asynchronous copy from it"}, {{"copies", 0}, {"writes", 0}}, 1) {
  overwritten<<<1, kThreads>>>(counting(), zeros<float>(), true, false);
}
CASE(copy_whose_destination_is_overwritten, "copy-overwritten",
     {"s[0] is written before the asynchronous copy to it"}, {{"copies", 0}, {"writes", 0}}, 1) {
  overwritten<<<1, kThreads>>>(counting(), zeros<float>(), false, false);
}
CASE(copy_whose_source_is_written_afterwards, "") {
  overwritten<<<1, kThreads>>>(counting(), zeros<float>(), true, true);
}

/// Another thread writes what is copied: with a barrier, but no wait before it.
__global__ void source_of_another(float* x, float* y, bool wait_first) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // copies
  __pipeline_commit();
  if (wait_first) __pipeline_wait_prior(0);
  __syncthreads();
  x[kThreads - 1 - threadIdx.x] = 1;  // writes
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(copy_whose_source_another_overwrites, "copy-overwritten", {"a barrier waits for no copy"},
     {{"copies", 0}, {"writes", 63}}) {
  source_of_another<<<1, kThreads>>>(counting(), zeros<float>(), false);
}
CASE(copy_whose_source_another_writes_afterwards, "") {
  source_of_another<<<1, kThreads>>>(counting(), zeros<float>(), true);
}

__global__ void twice_to_one_place(const float* x, float* y) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);       // copies
  __pipeline_memcpy_async(&s[threadIdx.x], &x[64 + threadIdx.x], 4);  // copies again
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(copies_to_one_place, "copy-overwritten",
     {"s[0] is written before the asynchronous copy to it"}, {{"copies", 0}, {"copies again", 0}}) {
  twice_to_one_place<<<1, kThreads>>>(counting(), zeros<float>());
}

// ---- Rings

/// y[i] = the sum of x over the steps. `left`: how many batches the wait leaves; right is stages-1.
template <int stages>
__global__ void ring(const float* x, float* y, int steps, int left, int early, bool barrier) {
  __shared__ float slots[stages][kThreads];
  const unsigned from = kThreads - 1 - threadIdx.x;  // another thread's element
  for (int step = 0; step < stages - 1; ++step) {
    if (step < steps)
      __pipeline_memcpy_async(&slots[step][threadIdx.x], &x[step * kThreads + threadIdx.x], 4);
    __pipeline_commit();
  }
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    const int next = step + stages - 1;
    if (next < steps)
      __pipeline_memcpy_async(&slots[next % stages][threadIdx.x],  // copies
                              &x[next * kThreads + threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(left);
    __syncthreads();
    sum += slots[(step + early) % stages][from];  // here
    if (barrier) __syncthreads();
  }
  y[blockIdx.x * kThreads + threadIdx.x] = sum;
}
template <int stages>
void run_ring(int left, int early, bool barrier, bool is_right) {
  float* y = zeros<float>();
  ring<stages><<<2, kThreads>>>(counting(), y, 8, left, early, barrier);
  if (is_right) expect(y, kThreads, 8 * 63 + 28 * 64, -8);
}
CASE(ring_of_two, "") {
  run_ring<2>(1, 0, true, true);
}
CASE(ring_of_three, "") {
  run_ring<3>(2, 0, true, true);
}
CASE(ring_of_four, "") {
  run_ring<4>(3, 0, true, true);
}
CASE(ring_that_waits_for_all, "") {
  run_ring<4>(0, 0, true, true);
}
CASE(ring_that_waits_for_too_few, "copy-not-awaited", {"leaves the last 4 batches under way"}) {
  ring<4><<<1, kThreads>>>(counting(), zeros<float>(), 8, 4, 0, true);
}
CASE(ring_used_one_stage_early, "copy-not-awaited", {"leaves the last 2 batches under way"}) {
  ring<3><<<1, kThreads>>>(counting(), zeros<float>(), 8, 2, 1, true);
}
CASE(ring_without_its_second_barrier, "shared-race", {"is written and read", "no __syncthreads()"},
     {{"copies", 63}, {"here", 0}}) {
  run_ring<2>(1, 0, false, false);
}

// ---- Sizes, zeros and addresses

__global__ void sized(const char* x, float* y, int size, int zeros, int to, int from) {
  __shared__ __align__(16) char s[56];
  __pipeline_memcpy_async(s + to, x + from, size, zeros);  // here
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[0] = *reinterpret_cast<const float*>(s);
  y[1] = *reinterpret_cast<const float*>(s + size - 4);
}
void run_sized(int size, int zero_bytes, int to, int from) {
  sized<<<1, 1>>>(reinterpret_cast<const char*>(counting()), zeros<float>(), size, zero_bytes, to,
                  from);
}
CASE(copy_of_8, "") {
  run_sized(8, 0, 0, 8);
}
CASE(copy_of_16, "") {
  run_sized(16, 0, 0, 32);
}
CASE(copy_of_12, "invalid-copy", {"An asynchronous copy of 12 bytes.", "4, 8 or 16"}) {
  run_sized(12, 0, 0, 0);
}
CASE(copy_of_2, "invalid-copy", {"of 2 bytes"}) {
  run_sized(2, 0, 0, 0);
}
CASE(copy_with_too_many_zeros, "invalid-copy", {"of 4 bytes of which 8 are to be zero"}) {
  run_sized(4, 8, 0, 0);
}
CASE(copy_from_a_misaligned_address, "misaligned", {"Reads 16 bytes", "8 past a multiple of 16"}) {
  run_sized(16, 0, 0, 8);
}
CASE(copy_to_a_misaligned_address, "misaligned", {"Writes 8 bytes", "4 past a multiple of 8"}) {
  run_sized(8, 0, 4, 8);
}
CASE(copy_with_zeros_from_a_misaligned_address, "misaligned",
     {"Reads 16 bytes", "8 past a multiple of 16"}) {
  run_sized(16, 12, 0, 8);
}
CASE(copy_past_the_end_of_shared_memory, "out-of-bounds-shared", {"past the end of s"}) {
  run_sized(16, 0, 48, 0);
}
CASE(copy_past_the_end_of_device_memory, "out-of-bounds-global", {"past the end"}) {
  run_sized(16, 0, 0, kZeroBytes);
}
// What is all zeros reads nothing: so rows' ends are padded.
CASE(copy_of_zeros_alone, "") {
  run_sized(16, 16, 0, kZeroBytes);
}
__global__ void padded(const float* x, float* y, int count) {
  __shared__ __align__(16) float s[4 * 8];
  const int there = min(max(count - 4 * static_cast<int>(threadIdx.x), 0), 4);
  __pipeline_memcpy_async(&s[4 * threadIdx.x], &x[4 * threadIdx.x], 16, 16 - 4 * there);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = s[4 * threadIdx.x + i];
}
CASE(copies_padded_with_zeros, "") {
  float* y = zeros<float>();
  padded<<<1, 8>>>(counting() + 1024 - 8, y, 30);
  expect(y, 8, 1016, 1);
  expect(y + 8, 24, 0, 0);  // zeros() gives no more
}

__global__ void to_global(const float* x, float* y) {
  __pipeline_memcpy_async(&y[threadIdx.x], &x[threadIdx.x], 4);  // here
}
CASE(copy_to_global_memory, "invalid-copy", {"to what is no shared memory"}) {
  to_global<<<1, 1>>>(counting(), zeros<float>());
}
__global__ void from_shared(float* y) {
  __shared__ float s[2];
  s[0] = y[0];
  __pipeline_memcpy_async(&s[1], &s[0], 4);  // here
}
CASE(copy_from_shared_memory, "invalid-copy", {"from what is no global memory"}) {
  from_shared<<<1, 1>>>(zeros<float>());
}
__global__ void from_uninitialised(const float* x, float* y) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // here
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(copy_of_what_nobody_has_written, "uninitialised-global") {
  float* x;
  cudaMalloc(&x, 4096);
  from_uninitialised<<<1, kThreads>>>(x, zeros<float>());
  cudaFree(x);
}

// ---- Left behind

__global__ void left(const float* x) {
  __shared__ float s[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // here
  __pipeline_commit();
}
CASE(copy_left_behind, "warning: copy-left",
     {"A thread returns while its asynchronous copy to s[0]"}, {}, 1) {
  left<<<2, kThreads>>>(counting());
}

/// In a kernel that copies, other accesses are checked as always.
__global__ void race_beside_a_copy(const float* x, float* y, bool barrier) {
  __shared__ float s[kThreads], t[kThreads];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  t[threadIdx.x] = x[threadIdx.x];  // writes
  if (barrier) __syncthreads();
  y[threadIdx.x] = t[kThreads - 1 - threadIdx.x];  // reads
  __pipeline_wait_prior(0);
  y[threadIdx.x] += s[threadIdx.x];
}
CASE(race_while_a_copy_is_under_way, "shared-race", {"t[32] is read and written"},
     {{"reads", 31}, {"writes", 32}}) {
  race_beside_a_copy<<<1, kThreads>>>(counting(), zeros<float>(), false);
}
CASE(no_race_while_a_copy_is_under_way, "") {
  float* y = zeros<float>();
  race_beside_a_copy<<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, kThreads - 1, 0);
}

}  // namespace

// Bulk copies (cp.async.bulk): into shared memory with the bytes counted at a barrier, and out of
// it in batches.
#include <cuda/barrier>
#include <cuda/ptx>

#include "tests/simulator/case_kernels.h"

namespace {

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
using Token = Barrier::arrival_token;

constexpr int kThreads = 64;
__device__ constexpr unsigned kBytes = kThreads * sizeof(float);  // which CUDA takes by reference

// ---- Into shared memory

struct In {
  unsigned expected = kBytes;  // bytes that the barrier is told
  unsigned size = kBytes;      // that are copied
  int to = 0, from = 0;        // the first float
  bool all_wait = true, thread_0_waits = true, sync = false;
};

/// As in CUDA's programming guide: thread 0 copies, all arrive and wait.
__global__ void load(const float* x, float* y, In how) {
  __shared__ __align__(16) float s[kThreads + 4];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  Token token;
  if (threadIdx.x == 0) {
    const auto size = cuda::aligned_size_t<16>(how.size);
    cuda::device::memcpy_async_tx(s + how.to, x + how.from, size, bar);  // copies
    token = cuda::device::barrier_arrive_tx(bar, 1, how.expected);
  } else {
    token = bar.arrive();  // arrives
  }
  if (how.sync) __syncthreads();
  if (threadIdx.x == 0 ? how.thread_0_waits : how.all_wait) {
    bar.wait(static_cast<Token&&>(token));  // waits
  }
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // reads
}
CASE(bulk_load, "") {
  float* y = zeros<float>();
  load<<<1, kThreads>>>(counting(), y, In());
  expect(y, kThreads, 63, -1);
}
/// By the names that they had before cuda::ptx.
__global__ void by_older_names(const float* x, float* y, bool with_fence) {
  namespace cde = cuda::device::experimental;
  __shared__ __align__(16) float s[kThreads];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, kThreads);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_global_to_shared(s, x, kBytes, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, kBytes);
  } else {
    token = bar.arrive();
  }
  bar.wait(static_cast<Token&&>(token));
  s[threadIdx.x] += 1;  // writes
  if (with_fence) cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(y, s, kBytes);  // copies
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
CASE(bulk_copies_by_older_names, "") {
  float* y = zeros<float>();
  by_older_names<<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, 1, 1);
}
CASE(bulk_copies_by_older_names_unfenced, "missing-proxy-fence", {"is written and then read"},
     {{"writes", 0}, {"copies", 0}}) {
  by_older_names<<<1, kThreads>>>(counting(), zeros<float>(), false);
}
CASE(bulk_load_from_another_row, "") {
  float* y = zeros<float>();
  In how;
  how.from = 64;
  load<<<1, kThreads>>>(counting(), y, how);
  expect(y, kThreads, 127, -1);
}
CASE(bulk_load_not_awaited, "shared-race", {"no __syncthreads() between"},
     {{"reads", 63}, {"copies", 0}}) {
  In how;
  how.all_wait = how.thread_0_waits = false;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_behind_another_barrier, "copy-not-awaited",
     {"is read before the asynchronous copy to it is sure to have landed",
      "nobody has waited for that"},
     {{"copies", 0}, {"reads", 62}}) {
  In how;
  how.all_wait = how.thread_0_waits = false;
  how.sync = true;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_awaited_by_one_thread, "copy-not-awaited", {"nobody has waited for that"},
     {{"copies", 0}, {"reads", 62}}) {
  In how;
  how.all_wait = false;
  how.sync = true;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_of_too_many_bytes, "invalid-barrier",
     {"more bytes to a barrier in one phase than it was told to expect, 128"},
     {{"copies", 0}, {"waits", 62}}) {
  In how;
  how.expected = kBytes / 2;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_that_nobody_expects, "invalid-barrier", {"than it was told to expect, 0"},
     {{"copies", 0}, {"arrives", 62}}) {
  In how;
  how.expected = 0;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_of_too_few_bytes, "deadlock", {"expects 16 more bytes, which never come"},
     {{"waits", 0}}) {
  In how;
  how.expected = kBytes + 16;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_of_an_odd_size, "invalid-copy", {"A bulk copy of 252 bytes.", "a multiple of 16"},
     {{"copies", 0}}) {
  In how;
  how.size = how.expected = kBytes - 4;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_from_an_odd_address, "misaligned", {"4 past a multiple of 16"}, {{"copies", 0}}) {
  In how;
  how.from = 1;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_to_an_odd_address, "misaligned", {"8 past a multiple of 16"}, {{"copies", 0}}) {
  In how;
  how.to = 2;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_past_the_slot, "out-of-bounds-shared", {}, {{"copies", 0}}) {
  In how;
  how.to = 8;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}
CASE(bulk_load_past_the_row, "out-of-bounds-global", {}, {{"copies", 0}}) {
  In how;
  how.from = kZeroBytes / sizeof(float) - 32;
  load<<<1, kThreads>>>(counting(), zeros<float>(), how);
}

#ifndef __NVCC__  // which breaks off at it
__global__ void backwards(float* x) {
  __shared__ __align__(16) float s[4];
  __shared__ Barrier bar;
  init(&bar, 1);
  uint64_t* const handle = cuda::device::barrier_native_handle(bar);
  ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, x, s, 16, handle);  // here
}
CASE(bulk_load_backwards, "invalid-copy", {"to what is no shared memory"}) {
  backwards<<<1, 1>>>(counting());
}
#endif

/// The source is written, or the destination used, while the copy is under way.
enum Meanwhile { kNothing, kSource, kDestination };
__global__ void meanwhile(float* x, float* y, Meanwhile used, bool wait_first) {
  __shared__ __align__(16) float s[kThreads];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    uint64_t* const handle = cuda::device::barrier_native_handle(bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, handle,
                                   kBytes);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, x, kBytes, handle);  // copies
  }
  __syncthreads();
  if (wait_first) bar.wait_parity(false);
  if (used == kSource) x[threadIdx.x] = 7;       // writes x
  if (used == kDestination) s[threadIdx.x] = 7;  // writes s
  bar.wait_parity(false);
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(bulk_load_that_arrives_before_it_copies, "") {
  float* y = zeros<float>();
  meanwhile<<<1, kThreads>>>(counting(), y, kNothing, false);
  expect(y, kThreads, 0, 1);
}
CASE(source_written_after_a_bulk_load, "") {
  float* y = zeros<float>();
  meanwhile<<<1, kThreads>>>(counting(), y, kSource, true);
  expect(y, kThreads, 0, 1);
}
CASE(source_written_during_a_bulk_load, "copy-overwritten",
     {"is written before the asynchronous copy from it"}, {{"copies", 0}, {"writes x", 63}}) {
  meanwhile<<<1, kThreads>>>(counting(), zeros<float>(), kSource, false);
}
CASE(destination_written_after_a_bulk_load, "") {
  float* y = zeros<float>();
  meanwhile<<<1, kThreads>>>(counting(), y, kDestination, true);
  expect(y, kThreads, 7, 0);
}
CASE(destination_written_during_a_bulk_load, "copy-overwritten",
     {"is written before the asynchronous copy to it"}, {{"copies", 0}, {"writes s", 63}}) {
  meanwhile<<<1, kThreads>>>(counting(), zeros<float>(), kDestination, false);
}

/// A loop asks until the phase is complete; or the program asks once and goes on.
__global__ void asked(const float* x, float* y, bool again) {
  __shared__ __align__(16) float s[kThreads];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                   kBytes);
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, s, x, kBytes, &bar);  // copies
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    if (!again) break;
  }
  y[threadIdx.x] = s[threadIdx.x];  // reads
}
CASE(barrier_asked_until_it_says_yes, "") {
  float* y = zeros<float>();
  asked<<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, 0, 1);
}
CASE(barrier_asked_once, "copy-not-awaited", {}, {{"copies", 0}, {"reads", 63}}) {
  asked<<<1, kThreads>>>(counting(), zeros<float>(), false);
}

// ---- Out of shared memory

struct Out {
  bool each_fences = true, thread_0_fences = false, sync = true, commit = true, wait = true;
  bool wait_until_read = true;  // that is all
  bool rewrite = false, read_back = false;
};

__global__ void store(const float* x, float* y, float* z, Out how) {
  __shared__ __align__(16) float s[kThreads];
  s[threadIdx.x] = 2 * x[threadIdx.x];  // stores
  if (how.each_fences) ptx::fence_proxy_async(ptx::space_shared);
  if (how.sync) __syncthreads();
  if (threadIdx.x == 0) {
    if (how.thread_0_fences) ptx::fence_proxy_async(ptx::space_shared);
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, s, kBytes);  // copies
    if (how.commit) ptx::cp_async_bulk_commit_group();
    if (how.wait && how.wait_until_read) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    if (how.wait && !how.wait_until_read) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
  __syncthreads();
  if (how.rewrite) s[threadIdx.x] = 7;                 // writes
  if (how.read_back) z[threadIdx.x] = y[threadIdx.x];  // reads
}
CASE(bulk_store, "") {
  float* y = zeros<float>();
  store<<<1, kThreads>>>(counting(), y, zeros<float>(), Out());
  expect(y, kThreads, 0, 2);
}
CASE(bulk_store_whose_source_is_written_again, "") {
  float* y = zeros<float>();
  Out how;
  how.rewrite = true;
  store<<<1, kThreads>>>(counting(), y, zeros<float>(), how);
  expect(y, kThreads, 0, 2);
}
CASE(bulk_store_that_is_read_again, "") {
  float* z = zeros<float>();
  Out how;
  how.read_back = true;
  how.wait_until_read = false;
  store<<<1, kThreads>>>(counting(), zeros<float>(), z, how);
  expect(z, kThreads, 0, 2);
}
CASE(bulk_store_fenced_by_the_thread_that_copies, "") {
  Out how;
  how.each_fences = false;
  how.thread_0_fences = true;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}
CASE(bulk_store_without_a_fence, "missing-proxy-fence",
     {"s[0] is written and then read by a bulk copy", "no cuda::ptx::fence_proxy_async() between"},
     {{"stores", 0}, {"copies", 0}}) {
  Out how;
  how.each_fences = false;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}
CASE(bulk_store_without_a_barrier, "shared-race", {"no __syncthreads() between"},
     {{"copies", 0}, {"stores", 32}}) {
  Out how;
  how.sync = false;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}
CASE(bulk_store_whose_source_is_written_early, "copy-overwritten",
     {"is written before the asynchronous copy from it is sure to have landed"},
     {{"copies", 0}, {"writes", 62}}) {
  Out how;
  how.wait = false;
  how.rewrite = true;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}
CASE(bulk_store_that_is_read_early, "copy-not-awaited",
     {"waits until the source has been read, and not until the destination is written"},
     {{"copies", 0}, {"reads", 62}}) {
  Out how;
  how.read_back = true;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}
CASE(bulk_store_not_committed, "copy-overwritten",
     {"a cp_async_bulk_commit_group() must come between"}, {{"copies", 0}, {"writes", 62}}) {
  Out how;
  how.commit = false;
  how.rewrite = true;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}
CASE(bulk_store_left_behind, "copy-left",
     {"may still be reading it", "The thread has not waited for it."}, {{"copies", 0}}) {
  Out how;
  how.wait = false;
  store<<<1, kThreads>>>(counting(), zeros<float>(), zeros<float>(), how);
}

}  // namespace

// cp.async as kernels write it themselves: the copies of async_copy_cases.cu, in PTX.
#include <cuda/barrier>
#include <cuda/ptx>

#include <cassert>
#include <cstdint>

#include "tests/simulator/case_kernels.h"

namespace {

constexpr int kThreads = 64;

__device__ inline void copy_16(void* to, const void* from) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;" ::"r"(address),  // cp.async
               "l"(from), "n"(16)
               : "memory");
}

template <bool wait>
__global__ void four_each(const float* x, float* y) {
  __shared__ alignas(16) float s[4 * kThreads];
  copy_16(&s[4 * threadIdx.x], &x[4 * threadIdx.x]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (wait) asm volatile("cp.async.wait_group %0;" ::"n"(0) : "memory");
  y[threadIdx.x] = s[4 * threadIdx.x + 3];  // here
}
CASE(ptx_copy_awaited, "") {
  float numbers[4 * kThreads];
  for (int i = 0; i < 4 * kThreads; ++i) numbers[i] = static_cast<float>(i);
  float *x = zeros<float>(1), *y = zeros<float>();
  cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  four_each<true><<<1, kThreads>>>(x, y);
  cudaMemcpy(numbers, y, kThreads * sizeof(float), cudaMemcpyDeviceToHost);
  assert(numbers[0] == 3 && numbers[63] == 255);
}
CASE(ptx_copy_without_wait, "copy-not-awaited", {"The thread has not waited for it."}) {
  four_each<false><<<1, kThreads>>>(zeros<float>(1), zeros<float>());
}

template <bool barrier>
__global__ void of_another(const float* x, float* y) {
  __shared__ float s[kThreads];
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(&s[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address),  // copies
               "l"(x + threadIdx.x));
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // reads
}
CASE(ptx_copy_for_all, "") {
  of_another<true><<<1, kThreads>>>(zeros<float>(1), zeros<float>());
}
CASE(ptx_copy_without_barrier, "shared-race", {}, {{"reads", 31}, {"copies", 32}}) {
  of_another<false><<<1, kThreads>>>(zeros<float>(1), zeros<float>());
}

/// Of the last copy only the bytes that are there are read; the rest are zeros.
__global__ void with_tail(const float* x, float* y, int n) {
  __shared__ alignas(16) float s[4];
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(address),  // here
               "l"(x), "r"(4 * n));
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int i = 0; i < 4; ++i) y[i] = s[i];
}
CASE(ptx_copy_reads_too_much, "invalid-copy", {"of 16 bytes that is to read 20."}) {
  with_tail<<<1, 1>>>(zeros<float>(1), zeros<float>(), 5);
}
CASE(ptx_copy_with_zeros, "") {
  const float ones[4] = {1, 1, 1, 1};
  float *end = zeros<float>(1) + kZeroBytes / 4 - 4, *y = zeros<float>();
  cudaMemcpy(end, ones, sizeof ones, cudaMemcpyHostToDevice);
  with_tail<<<1, 1>>>(end, y, 3);
  float host[4];
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  assert(host[2] == 1 && host[3] == 0);
}

#ifndef __NVCC__  // whose assembler refuses the text
/// .cg goes past the first-level cache, and only 16 bytes do.
__global__ void four_past_the_cache(const float* x) {
  __shared__ float s[kThreads];
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(&s[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(address), "l"(x),  // here
               "n"(4));
  asm volatile("cp.async.wait_all;" ::: "memory");
}
CASE(ptx_copy_of_four_by_cg, "invalid-copy", {"of 4 bytes by cp.async.cg, which takes 16"}) {
  four_past_the_cache<<<1, kThreads>>>(zeros<float>(1));
}
#endif

__global__ void from_shared_memory() {
  __shared__ alignas(16) float s[8];
  s[threadIdx.x] = 0;
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(s + 4));  // here
}
CASE(ptx_copy_from_shared, "wrong-address-space", {"a pointer to shared memory"}) {
  from_shared_memory<<<1, 8>>>();
}

// ---- With barriers in shared memory, and bulk copies

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ inline float load_shared(const float* from) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];"  // ld
               : "=f"(value)
               : "r"(shared_address(from))
               : "memory");
  return value;
}
__device__ inline void store_shared(float* to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared_address(to)), "f"(value)  // st
               : "memory");
}

struct Waits {
  bool for_copy = true, at_barrier = true;
};
/// Each waits for its own copy, then for the others.
__global__ void meet(const float* x, float* y, Waits waits) {
  __shared__ alignas(16) float s[4 * kThreads];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  copy_16(&s[4 * threadIdx.x], &x[4 * threadIdx.x]);  // copies
  if (waits.for_copy) asm volatile("cp.async.wait_all;" ::: "memory");
  Barrier::arrival_token token = bar.arrive();
  if (waits.at_barrier) bar.wait(static_cast<Barrier::arrival_token&&>(token));
  y[threadIdx.x] = load_shared(&s[4 * (kThreads - 1 - threadIdx.x)]);  // reads
}
CASE(ptx_copy_and_a_barrier, "") {
  meet<<<1, kThreads>>>(zeros<float>(1), zeros<float>(), Waits());
}
CASE(ptx_copy_and_a_barrier_not_awaited, "shared-race", {},
     {{"ld", 63, 0, "reads"}, {"cp.async", 0, 0, "copies"}}) {
  Waits waits;
  waits.at_barrier = false;
  meet<<<1, kThreads>>>(zeros<float>(1), zeros<float>(), waits);
}
CASE(ptx_copy_that_a_barrier_does_not_wait_for, "copy-not-awaited",
     {"The thread that began it has not waited for it"},
     {{"cp.async", 1, 0, "copies"}, {"ld", 62, 0, "reads"}}) {
  Waits waits;
  waits.for_copy = false;
  meet<<<1, kThreads>>>(zeros<float>(1), zeros<float>(), waits);
}

__global__ void stored(float* y, bool waits) {
  __shared__ float s[kThreads];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  store_shared(&s[threadIdx.x], 1);  // stores
  Barrier::arrival_token token = bar.arrive();
  if (waits) bar.wait(static_cast<Barrier::arrival_token&&>(token));
  y[threadIdx.x] = load_shared(&s[kThreads - 1 - threadIdx.x]);  // loads
}
CASE(ptx_store_before_a_barrier, "") {
  float* y = zeros<float>();
  stored<<<1, kThreads>>>(y, true);
  float first;
  cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost);
  assert(first == 1);
}
CASE(ptx_store_before_a_barrier_not_awaited, "shared-race", {},
     {{"ld", 63, 0, "loads"}, {"st", 0, 0, "stores"}}) {
  stored<<<1, kThreads>>>(zeros<float>(), false);
}

struct Bulk {
  bool wait = true, store_early = false, fence = true;
};
/// In and out again, with PTX between.
__global__ void bulk(const float* x, float* y, Bulk how) {
  __shared__ alignas(16) float s[kThreads];
  __shared__ uint64_t bar;
  namespace ptx = cuda::ptx;
  constexpr unsigned kBytes = kThreads * sizeof(float);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                   kBytes);
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, s, x, kBytes, &bar);  // copies in
  }
  __syncthreads();
  if (how.store_early) store_shared(&s[threadIdx.x], 1);  // stores early
  while (how.wait && !ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  const float value = load_shared(&s[threadIdx.x]);  // loads
  store_shared(&s[threadIdx.x], value + 1);          // stores
  if (how.fence) ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, s, kBytes);  // copies out
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
CASE(ptx_between_bulk_copies, "") {
  float* y = zeros<float>();
  bulk<<<1, kThreads>>>(zeros<float>(1), y, Bulk());
  float first;
  cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost);
  assert(first == 1);
}
CASE(ptx_load_before_a_bulk_copy_lands, "copy-not-awaited", {"nobody has waited for that"},
     {{"copies in", 0}, {"ld", 63, 0, "loads"}}) {
  Bulk how;
  how.wait = false;
  bulk<<<1, kThreads>>>(zeros<float>(1), zeros<float>(), how);
}
CASE(ptx_store_before_a_bulk_copy_lands, "copy-overwritten", {"s[63] is written"},
     {{"copies in", 0}, {"st", 63, 0, "stores early"}}) {
  Bulk how;
  how.store_early = true;
  bulk<<<1, kThreads>>>(zeros<float>(1), zeros<float>(), how);
}
CASE(ptx_store_that_a_bulk_copy_does_not_see, "missing-proxy-fence",
     {"s[0] is written and then read by a bulk copy"},
     {{"st", 0, 0, "stores"}, {"copies out", 0}}) {
  Bulk how;
  how.fence = false;
  bulk<<<1, kThreads>>>(zeros<float>(1), zeros<float>(), how);
}

}  // namespace

// cp.async as kernels write it themselves: the copies of async_copy_cases.cu, in PTX.
#include <cassert>
#include <cstdint>

#include "tests/simulator/case_kernels.h"

namespace {

constexpr int kThreads = 64;

__device__ inline void copy_16(void* to, const void* from) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;" ::"r"(address), "l"(from),
               "n"(16)
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

__global__ void from_shared_memory() {
  __shared__ alignas(16) float s[8];
  s[threadIdx.x] = 0;
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(s + 4));  // here
}
CASE(ptx_copy_from_shared, "wrong-address-space", {"a pointer to shared memory"}) {
  from_shared_memory<<<1, 8>>>();
}

}  // namespace

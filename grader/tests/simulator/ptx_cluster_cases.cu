// Clusters by inline PTX: their barrier in two halves, and the shared memory of the other blocks.
#include <cuda_runtime.h>

#include <cstdint>

#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace {

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ inline uint32_t rank() {
  uint32_t number;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(number));
  return number;
}
__device__ inline uint32_t blocks() {
  uint32_t number;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(number));
  return number;
}
__device__ inline void arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline uint32_t map(uint32_t address, uint32_t to) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"  // maps
               : "=r"(there)
               : "r"(address), "r"(to));
  return there;
}
__device__ inline float load(uint32_t address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");  // ld
  return value;
}

struct Barriers {
  bool written = true, read = true;
  uint32_t one_more = 0;  // block that is asked
};
/// All blocks read what each has written.
__global__ void sum_of_cluster(float* y, Barriers barriers) {
  __shared__ float own;
  if (threadIdx.x == 0) own = static_cast<float>(rank() + 1);  // write
  if (barriers.written) {
    arrive();
    wait();
  }
  float sum = 0;
  for (uint32_t other = 0; other < blocks() + barriers.one_more; ++other) {
    sum += load(map(shared_address(&own), other));  // read
  }
  if (barriers.read) {
    arrive();
    wait();
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;  // last
}
void run(float* y, Barriers barriers) {
  const auto config = config_of(4, 64, 4);
  cudaLaunchKernelEx(&config, sum_of_cluster, y, barriers);
}
CASE(ptx_sum_over_a_cluster, "") {
  float* y = zeros<float>();
  run(y, Barriers());
  expect(y, 256, 10, 0);
}
CASE(ptx_a_cluster_of_one, "") {
  float* y = zeros<float>();
  sum_of_cluster<<<4, 64>>>(y, Barriers());
  expect(y, 256, 1, 0);
}
CASE(ptx_neighbours_that_may_have_ended, "cluster-lifetime", {"may have ended"},
     {{"ld", 0, 0, "read"}, {"last", 62, 3}}) {
  Barriers barriers;
  barriers.read = false;
  run(zeros<float>(), barriers);
}
CASE(ptx_neighbours_that_may_not_have_begun, "cluster-lifetime", {"may not have begun"},
     {{"ld", 0, 0, "read"}}) {
  Barriers barriers;
  barriers.written = false;
  run(zeros<float>(), barriers);
}
CASE(ptx_a_rank_too_large, "out-of-bounds-shared", {"block 4 of a cluster of 4"},
     {{"maps", 63, 3, "read"}}) {
  Barriers barriers;
  barriers.one_more = 1;
  run(zeros<float>(), barriers);
}

/// Each block writes into the next one's memory: by an address within shared memory, or by a
/// pointer.
template <bool by_pointer>
__global__ void to_the_next(float* y, bool waits) {
  __shared__ float s[64];
  const uint32_t next = (rank() + 1) % blocks();
  s[threadIdx.x] = -1;  // before
  arrive();
  wait();
  const float value = static_cast<float>(rank());
  if (by_pointer) {
    uint64_t there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&s[threadIdx.x]), "r"(next));
    asm volatile("st.f32 [%0], %1;" ::"l"(there), "f"(value) : "memory");
  } else {
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(  // st
                     map(shared_address(&s[threadIdx.x]), next)),
                 "f"(value)
                 : "memory");
  }
  if (waits) {
    arrive();
    wait();
  }
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];  // take
  arrive();
  wait();
}
CASE(ptx_to_the_next_block, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, to_the_next<false>, y, true);
  assert(at(y, 0) == 1 && at(y, 127) == 0);
}
CASE(ptx_to_the_next_block_by_a_pointer, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, to_the_next<true>, y, true);
  assert(at(y, 0) == 1 && at(y, 127) == 0);
}
CASE(ptx_to_the_next_block_not_awaited, "shared-race", {"s[0]"}, {{"take", 0, 1}, {"st", 0, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, to_the_next<false>, zeros<float>(), false);
}

/// Where it is, and whose a place is.
__global__ void places() {
  __shared__ float own;
  uint32_t cluster, clusters, place, whose;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
  asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(place));
  asm volatile("getctarank.shared::cluster.u32 %0, %1;"
               : "=r"(whose)
               : "r"(map(shared_address(&own), 1)));
  expect(cluster == blockIdx.x / 2 && clusters == 3 && place == blockIdx.x % 2 && whose == 1);
  asm volatile("getctarank.u64 %0, %1;" : "=r"(whose) : "l"(&own));
  expect(whose == place);
}
CASE(ptx_places_in_a_cluster, "") {
  const auto config = config_of(6, 1, 2);
  cudaLaunchKernelEx(&config, places);
}

// ---- Barriers of another block

__device__ inline void init(uint64_t* bar, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void wait_for(uint32_t bar, uint32_t parity) {
  asm volatile(  // asks
      "{\n\t"
      ".reg .pred p;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n\t"
      "@!p bra again;\n\t"
      "}" ::"r"(bar),
      "r"(parity)
      : "memory");
}

enum class Arrival { both, waits_there };
/// Each block arrives at the other's barrier, twice: once with bytes that nobody brings.
__global__ void arrives_there(float* y, Arrival how) {
  __shared__ uint64_t bar;
  __shared__ float value;
  init(&bar, 4);
  arrive();
  wait();
  const uint32_t there = map(shared_address(&bar), rank() ^ 1);
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(map(shared_address(&value), rank() ^ 1)),
               "f"(static_cast<float>(rank()))
               : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there)
               : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 2;" ::"r"(there)
               : "memory");
  asm volatile(
      "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(there),
      "r"(0)
      : "memory");
  wait_for(how == Arrival::waits_there ? there : shared_address(&bar), 0);  // calls
  y[rank()] = value;
}
CASE(ptx_arrivals_at_another_block, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, arrives_there, y, Arrival::both);
  expect(y, 2, 1, -1);
}
#ifndef __NVCC__  // where it is undefined
CASE(ptx_wait_at_another_block, "invalid-barrier", {"Only the threads of its own block may wait"},
     {{"asks", 0, 1, "calls"}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, arrives_there, zeros<float>(), Arrival::waits_there);
}
#endif

/// Rank 0 fills the other block's 48 bytes by stores of each size.
__global__ void stores_there(uint32_t* y, bool waits) {
  __shared__ uint64_t bar;
  __shared__ alignas(16) uint32_t s[12];
  init(&bar, 1);
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 _, [%0], 48;" ::"r"(
                   shared_address(&bar))
               : "memory");
  arrive();
  wait();
  if (rank() == 0) {
    const uint32_t at = map(shared_address(&bar), 1), to = map(shared_address(s), 1);
    asm volatile(  // stores
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, "
        "[%1];\n\t"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0+16], {%6, %7}, [%1];" ::
            "r"(to),
        "r"(at), "r"(0), "r"(1), "r"(2), "r"(3), "r"(4), "r"(5)
        : "memory");
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0+24], %2, [%1];\n\t"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [%0+32], {%3, %4}, "
        "[%1];\n\t"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0+40], %5, [%1];\n\t"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0+44], %6, [%1];" ::"r"(
            to),
        "r"(at), "l"(0x700000006ull), "r"(8), "r"(9), "r"(10), "f"(__int_as_float(11))
        : "memory");
    return;
  }
  if (waits) wait_for(shared_address(&bar), 0);
  for (uint32_t i = 0; i < 12; ++i) y[i] = s[i];  // reads
}
CASE(ptx_async_stores, "") {
  uint32_t* y = zeros<uint32_t>();
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, stores_there, y, true);
  expect(y, 12, 0, 1);
}
CASE(ptx_async_stores_not_awaited, "copy-not-awaited", {"s[0] is read before the asynchronous"},
     {{"stores", 0, 0}, {"reads", 0, 1}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, stores_there, zeros<uint32_t>(), false);
}

}  // namespace

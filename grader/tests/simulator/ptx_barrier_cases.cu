// Barriers in shared memory and bulk copies by inline PTX, with the loops that wait for them.
#include <cuda_runtime.h>

#include <cstdint>

#include "tests/simulator/case_kernels.h"

namespace {

constexpr int kThreads = 64;
constexpr unsigned kBytes = kThreads * sizeof(float);

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- One function for each instruction, as such kernels have them

__device__ inline void init(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void expect_bytes(uint64_t* bar, unsigned bytes) {
  asm volatile(  // tells
      "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
          shared_address(bar)),
      "r"(bytes)
      : "memory");
}
__device__ inline uint64_t arrive(uint64_t* bar) {
  uint64_t token;
  asm volatile(  // arrives
      "mbarrier.arrive.shared::cta.b64 %0, [%1];"
      : "=l"(token)
      : "r"(shared_address(bar))
      : "memory");
  return token;
}
__device__ inline void wait(uint64_t* bar, unsigned parity) {
  asm volatile(  // waits
      "{\n"
      ".reg .pred P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1, %2;\n"
      "@P1 bra DONE;\n"
      "bra LAB_WAIT;\n"
      "DONE:\n"
      "}" ::"r"(shared_address(bar)),
      "r"(parity), "r"(0x989680)
      : "memory");
}
/// The other way to write it.
__device__ inline void wait_back(uint64_t* bar, unsigned parity) {
  asm volatile(
      "{ .reg .pred p; again: mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;"
      " @!p bra.uni again; }" ::"r"(shared_address(bar)),
      "r"(parity)
      : "memory");
}
/// Asks once.
__device__ inline bool has_come(uint64_t* bar, unsigned parity) {
  uint32_t answer;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
      " selp.b32 %0, 1, 0, p; }"
      : "=r"(answer)
      : "r"(shared_address(bar)), "r"(parity)
      : "memory");
  return answer != 0;
}
__device__ inline void copy_in(void* to, const void* from, unsigned bytes, uint64_t* bar) {
  asm volatile(  // copies in
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(bar))
      : "memory");
}
__device__ inline void copy_out(void* to, const void* from, unsigned bytes) {
  asm volatile(  // out
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
      "r"(shared_address(from)), "r"(bytes)
      : "memory");
}

// ---- In, changed, and out again

enum class Waits { loop, loop_back, asks_again, asks_once, not_at_all };
struct Bulk {
  Waits waits = Waits::loop;
  unsigned told = kBytes, size = kBytes, parity = 0;
  int to = 0;  // the first float
  bool fence = true, committed = true;
};
__global__ void bulk(const float* x, float* y, Bulk how) {
  __shared__ alignas(16) float s[kThreads + 4];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) init(&bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect_bytes(&bar, how.told);
    copy_in(s + how.to, x, how.size, &bar);  // fetch
  }
  __syncthreads();
  if (how.waits == Waits::loop) wait(&bar, how.parity);  // wait
  if (how.waits == Waits::loop_back) wait_back(&bar, how.parity);
  if (how.waits == Waits::asks_once) has_come(&bar, how.parity);
  while (how.waits == Waits::asks_again && !has_come(&bar, how.parity)) {
  }
  s[threadIdx.x] += 1;  // adds
  if (how.fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x > 0) return;
  copy_out(y, s, kBytes);  // store
  if (how.committed) asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
float* run(Bulk how) {
  float* y = zeros<float>();
  bulk<<<1, kThreads>>>(counting(), y, how);
  return y;
}
Bulk waiting(Waits waits) {
  Bulk how;
  how.waits = waits;
  return how;
}
CASE(ptx_bulk_in_and_out, "") {
  expect(run(Bulk()), kThreads, 1, 1);
}
CASE(ptx_bulk_with_the_other_loop, "") {
  expect(run(waiting(Waits::loop_back)), kThreads, 1, 1);
}
CASE(ptx_bulk_asked_for_in_a_loop_of_cpp, "") {
  expect(run(waiting(Waits::asks_again)), kThreads, 1, 1);
}
CASE(ptx_bulk_asked_for_once, "copy-not-awaited", {"nobody has waited for that"},
     {{"copies in", 0, 0, "fetch"}, {"adds", 62}}) {
  run(waiting(Waits::asks_once));
}
CASE(ptx_bulk_not_awaited, "copy-not-awaited", {}, {{"copies in", 0, 0, "fetch"}, {"adds", 62}}) {
  run(waiting(Waits::not_at_all));
}
CASE(ptx_bulk_of_the_other_parity, "copy-not-awaited", {},
     {{"copies in", 0, 0, "fetch"}, {"adds", 62}}) {
  Bulk how;
  how.parity = 1;
  run(how);
}
CASE(ptx_bulk_parity_is_the_lowest_bit, "") {
  Bulk how;
  how.parity = 2;
  expect(run(how), kThreads, 1, 1);
}
CASE(ptx_bulk_bytes_that_never_come, "deadlock", {"expects 16 more bytes, which never come"},
     {{"waits", 0, 0, "wait"}}) {
  Bulk how;
  how.told += 16;
  run(how);
}
CASE(ptx_bulk_bytes_that_nobody_expects, "invalid-barrier", {"than it was told to expect, 128"},
     {{"copies in", 0, 0, "fetch"}, {"waits", 62, 0, "wait"}}) {
  Bulk how;
  how.told /= 2;
  run(how);
}
CASE(ptx_bulk_of_odd_size, "invalid-copy", {"A bulk copy of 8 bytes."},
     {{"copies in", 0, 0, "fetch"}}) {
  Bulk how;
  how.told = how.size = 8;
  run(how);
}
CASE(ptx_bulk_misaligned, "misaligned", {}, {{"copies in", 0, 0, "fetch"}}) {
  Bulk how;
  how.to = 1;
  run(how);
}
CASE(ptx_bulk_without_proxy_fence, "missing-proxy-fence", {},
     {{"adds", 0}, {"out", 0, 0, "store"}}) {
  Bulk how;
  how.fence = false;
  run(how);
}
CASE(ptx_bulk_not_committed, "copy-left", {}, {{"out", 0, 0, "store"}}) {
  Bulk how;
  how.committed = false;
  run(how);
}

// ---- Arrivals of threads, with tokens, and with addresses that are pointers

__global__ void neighbours(float* y, bool waits, int expected) {
  __shared__ float s[kThreads];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) init(&bar, expected);
  __syncthreads();
  s[threadIdx.x] = 1;                   // writes
  const uint64_t token = arrive(&bar);  // come
  if (waits) {
    asm volatile(  // pends
        "{ .reg .pred p; L: mbarrier.try_wait.b64 p, [%0], %1; @p bra E;"
        " nanosleep.u32 20; bra L; E: }" ::"l"(&bar),
        "l"(token)
        : "memory");
  }
  y[threadIdx.x] = s[kThreads - 1 - threadIdx.x];  // reads
}
CASE(ptx_arrivals, "") {
  float* y = zeros<float>();
  neighbours<<<1, kThreads>>>(y, true, kThreads);
  expect(y, kThreads, 1, 0);
}
CASE(ptx_arrivals_not_awaited, "shared-race", {}, {{"reads", 63}, {"writes", 0}}) {
  neighbours<<<1, kThreads>>>(zeros<float>(), false, kThreads);
}
CASE(ptx_arrivals_that_never_come, "deadlock", {"one more arrival, which never comes"},
     {{"pends", 0}}) {
  neighbours<<<1, kThreads>>>(zeros<float>(), true, kThreads + 1);
}
__global__ void two_at_once(int expected) {
  __shared__ uint64_t bar;
  init(&bar, expected);
  asm volatile("mbarrier.arrive.release.cta.shared.b64 _, [%0], 2;" ::"r"(  // here
                   shared_address(&bar))
               : "memory");
}
CASE(ptx_two_arrivals, "") {
  two_at_once<<<1, 1>>>(2);
}
CASE(ptx_too_many_arrivals, "invalid-barrier", {"told to expect, 1."}) {
  two_at_once<<<1, 1>>>(1);
}

// ---- The barrier ends, and its memory is another one's

__global__ void twice(bool init_anew) {
  __shared__ uint64_t bar;
  init(&bar, 1);
  arrive(&bar);
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&bar)) : "memory");
  if (init_anew) init(&bar, 1);
  arrive(&bar);  // again
}
CASE(ptx_barrier_of_the_same_memory, "") {
  twice<<<1, 1>>>(true);
}
CASE(ptx_barrier_that_has_ended, "invalid-barrier", {"behind mbarrier.inval"},
     {{"arrives", 0, 0, "again"}}) {
  twice<<<1, 1>>>(false);
}

// ---- cp.async that arrives when it has landed

template <bool counts>
__global__ void copies_arrive(const float* x, float* y, bool waits) {
  __shared__ alignas(16) float s[4 * kThreads];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) init(&bar, kThreads);
  __syncthreads();
  asm volatile(  // cp.async
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&s[4 * threadIdx.x])),
      "l"(&x[4 * threadIdx.x])
      : "memory");
  if (counts) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&bar))
                 : "memory");
  } else {
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(&bar))
                 : "memory");
    arrive(&bar);
  }
  if (waits) wait(&bar, 0);
  y[threadIdx.x] = s[4 * (kThreads - 1 - threadIdx.x)];  // takes
}
CASE(ptx_copies_that_arrive, "") {
  float* y = zeros<float>();
  copies_arrive<true><<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, 252, -4);
}
CASE(ptx_copies_that_arrive_not_awaited, "shared-race", {}, {{"takes", 63}, {"cp.async", 0}}) {
  copies_arrive<true><<<1, kThreads>>>(counting(), zeros<float>(), false);
}
CASE(ptx_copies_and_an_arrival, "") {
  float* y = zeros<float>();
  copies_arrive<false><<<1, kThreads>>>(counting(), y, true);
  expect(y, kThreads, 252, -4);
}
CASE(ptx_copies_and_an_arrival_not_awaited, "shared-race", {}, {{"takes", 63}, {"cp.async", 0}}) {
  copies_arrive<false><<<1, kThreads>>>(counting(), zeros<float>(), false);
}

// ---- One lane of a warp, which is to begin the copies

__global__ void leaders(float* y, unsigned mask) {
  unsigned leader, is_leader = 0;
  asm volatile(  // here
      "{ .reg .b32 %%rx; .reg .pred %%px; elect.sync %%rx|%%px, %2;"
      " @%%px mov.s32 %1, 1; mov.s32 %0, %%rx; }"
      : "=r"(leader), "+r"(is_leader)
      : "r"(mask));
  y[threadIdx.x] = static_cast<float>(100 * is_leader + leader);
}
CASE(ptx_leader_of_a_warp, "") {
  float* y = zeros<float>();
  leaders<<<1, kThreads>>>(y, 0xffffffff);
  expect(y, 1, 100, 0);
  expect(y + 1, 31, 0, 0);
  expect(y + 32, 1, 100, 0);
}
CASE(ptx_leader_of_others, "bad-warp-mask",
     {"elect.sync with mask 0xffff0000", "leaves out the lane that calls it"}) {
  leaders<<<1, 32>>>(zeros<float>(), 0xffff0000);
}

// ---- Kernels that begin early

__global__ void writes(float* x) {
  asm volatile("griddepcontrol.launch_dependents;");
  x[threadIdx.x] = 1;  // first
}
__global__ void reads(const float* x, float* y, bool waits) {
  if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  y[threadIdx.x] = x[threadIdx.x];  // second
}
void run_early(bool waits) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<1, kThreads>>>(x);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {1, kThreads, 0, nullptr, &attribute, 1};
  cudaLaunchKernelEx(&config, reads, static_cast<const float*>(x), y, waits);
}
CASE(ptx_waits_for_the_kernel_before, "") {
  run_early(true);
}
CASE(ptx_waits_for_nobody, "early-begin", {}, {{"first", 0}, {"second", 0}}) {
  run_early(false);
}

}  // namespace

// Loads, stores and atomics that are written in PTX: they are checked and counted as the same ones
// in C++ are, at the line of the asm.
#include <cassert>
#include <cstdint>

#include "tests/simulator/case_kernels.h"

namespace {

__device__ inline float4 load_streaming(const float* p) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"  // in helper
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}

// ---- Bounds, alignment, initialised memory

__global__ void copy_scalars(const float* x, float* y) {
  float v;
  asm("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(x + threadIdx.x));  // here
  asm volatile("st.global.f32 [%0], %1;" ::"l"(y + threadIdx.x), "f"(v));
}
CASE(ptx_load_inside, "") {
  copy_scalars<<<1, 32>>>(zeros<float>(1), zeros<float>());
}
CASE(ptx_load_past_the_end, "out-of-bounds-global", {"Reads", "past the end"}) {
  copy_scalars<<<1, 32>>>(zeros<float>(1) + kZeroBytes / 4 - 31, zeros<float>());
}
CASE(ptx_load_of_nothing, "null-pointer") {
  copy_scalars<<<1, 32>>>(nullptr, zeros<float>());
}
CASE(ptx_load_before_a_store, "uninitialised-global") {
  float* x = nullptr;
  cudaMalloc(&x, 32 * sizeof(float));
  copy_scalars<<<1, 32>>>(x, zeros<float>());
  cudaFree(x);
}
__global__ void sum_of_four(const float* x, float* y) {
  const float4 v = load_streaming(x + 4 * threadIdx.x);  // calls
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
CASE(ptx_vector_misaligned, "misaligned", {"a 16-byte access needs an address that 16 divides"},
     {{"in helper", 0, 0, "calls"}}) {
  sum_of_four<<<1, 32>>>(zeros<float>(1) + 1, zeros<float>());
}
__global__ void pairs_in_lines(const float* x, float* y) {
  float low, high;
  asm volatile(  // here
      "ld.global.v2.f32 "
      "{%0, %1}, [%2];"
      : "=f"(low), "=f"(high)
      : "l"(x + 2 * threadIdx.x));
  y[threadIdx.x] = low + high;
}
CASE(ptx_on_several_lines, "misaligned", {"an address that 8 divides"}) {
  pairs_in_lines<<<1, 32>>>(zeros<float>(1) + 1, zeros<float>());
}
__global__ void offset_in_address(float* x) {
  asm volatile("st.global.f32 [%0+-4], %1;" ::"l"(x + threadIdx.x), "f"(1.0f));  // here
}
CASE(ptx_offset_before_the_beginning, "out-of-bounds-global", {"Writes"}) {
  offset_in_address<<<1, 32>>>(zeros<float>());
}

__global__ void volatile_element(float* x, int i) {
  float v;
  asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(v) : "l"(x + i));  // reads
  asm volatile("st.volatile.global.f32 [%0], %1;" ::"l"(x), "f"(v));
}
CASE(ptx_volatile, "") {
  volatile_element<<<1, 1>>>(zeros<float>(), 1);
}
CASE(ptx_volatile_past_the_end, "out-of-bounds-global", {"Reads"}, {{"reads", 0}}) {
  volatile_element<<<1, 1>>>(zeros<float>(), kZeroBytes / 4);
}
/// Two bytes each, in registers of four.
__global__ void vector_of_halves(const uint16_t* x, uint32_t* y) {
  uint32_t low, high;
  asm("ld.global.nc.v2.u16 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "l"(x + 2 * threadIdx.x));
  asm volatile("st.global.v2.b16 [%0], {%1, %2};" ::"l"(y + threadIdx.x), "r"(high), "r"(low));
}
CASE(ptx_vector_of_halves, "") {
  const uint16_t pair[2] = {0x1234, 0xabcd};
  uint16_t* x = zeros<uint16_t>(1);
  uint32_t *y = zeros<uint32_t>(), swapped = 0;
  cudaMemcpy(x, pair, sizeof pair, cudaMemcpyHostToDevice);
  vector_of_halves<<<1, 32>>>(x, y);
  cudaMemcpy(&swapped, y, sizeof swapped, cudaMemcpyDeviceToHost);
  assert(swapped == 0x1234abcd);
}

// ---- Shared memory, by its 32-bit addresses

template <bool barrier>
__global__ void exchange_by_ptx(float* y) {
  __shared__ float s[64];
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(base + 4 * threadIdx.x), "f"(1.0f));  // writes
  if (barrier) asm volatile("bar.sync 0;" ::: "memory");
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(base + 4 * (63 - threadIdx.x)));  // reads
  y[threadIdx.x] = v;
}
CASE(ptx_shared_exchange, "") {
  exchange_by_ptx<true><<<1, 64>>>(zeros<float>());
}
CASE(ptx_shared_exchange_without_barrier, "shared-race", {"no __syncthreads() between"},
     {{"reads", 31}, {"writes", 32}}) {
  exchange_by_ptx<false><<<1, 64>>>(zeros<float>());
}
__global__ void beyond_shared(float* y, int n) {
  extern __shared__ float buffer[];
  uint32_t address;
  asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
      : "=r"(address)
      : "l"(buffer));
  buffer[threadIdx.x] = 1;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(y[threadIdx.x]) : "r"(address + 4 * n));  // here
}
CASE(ptx_dynamic_shared, "") {
  beyond_shared<<<1, 1, 128>>>(zeros<float>(), 0);
}
CASE(ptx_past_dynamic_shared, "out-of-bounds-shared", {"Reads"}) {
  beyond_shared<<<1, 1, 128>>>(zeros<float>(), 32);
}
__global__ void pointer_as_address(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(y[0]) : "l"(&s[threadIdx.x]));  // here
}
CASE(ptx_shared_without_cvta, "wrong-address-space", {"__cvta_generic_to_shared()"}) {
  pointer_as_address<<<1, 32>>>(zeros<float>());
}
__global__ void shared_as_global(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(y[0]) : "l"(&s[threadIdx.x]));  // here
}
CASE(ptx_global_of_shared, "wrong-address-space", {"without .global"}) {
  shared_as_global<<<1, 32>>>(zeros<float>());
}
__global__ void generic_of_both(const float* x, float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;
  float a, b;
  asm("ld.f32 %0, [%1];" : "=f"(a) : "l"(&s[threadIdx.x]));
  asm("ld.f32 %0, [%1];" : "=f"(b) : "l"(&x[threadIdx.x]));
  y[threadIdx.x] = a + b;
}
CASE(ptx_generic_address, "") {
  float* y = zeros<float>();
  generic_of_both<<<1, 32>>>(zeros<float>(1), y);
}

// ---- Races in global memory, atomics, fences

__global__ void all_write(float* y) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(y), "f"(static_cast<float>(threadIdx.x)));  // here
}
CASE(ptx_stores_race, "warning: global-race") {
  all_write<<<1, 64>>>(zeros<float>());
}
__global__ void all_add(float* y, unsigned* count) {
  unsigned old;
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(y), "f"(1.0f) : "memory");
  asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(count) : "memory");
  y[1 + old] = 2;
}
CASE(ptx_atomics, "") {
  float* y = zeros<float>();
  all_add<<<2, 64>>>(y, zeros<unsigned>(1));
  float sum = 0;
  cudaMemcpy(&sum, y, sizeof sum, cudaMemcpyDeviceToHost);
  assert(sum == 128);
}
/// The last block reads what the others have written.
template <bool fence>
__global__ void last_block(float* parts, unsigned* count, float* y) {
  parts[blockIdx.x] = 1;  // writes
  if (fence) asm volatile("fence.acq_rel.gpu;" ::: "memory");
  unsigned old;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(count), "r"(1) : "memory");
  if (old != gridDim.x - 1) return;
  asm volatile("membar.gl;" ::: "memory");
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];  // reads
  *y = sum;
}
CASE(ptx_fences, "") {
  last_block<true><<<4, 1>>>(zeros<float>(), zeros<unsigned>(1), zeros<float>(2));
}
CASE(ptx_without_a_fence, "global-race", {"__threadfence()"}, {{"writes", 0, 0}, {"reads", 0, 3}}) {
  last_block<false><<<4, 1>>>(zeros<float>(), zeros<unsigned>(1), zeros<float>(2));
}

enum class Counted { acq_rel, release, generic, acquire, relaxed, in_block };

/// The order of the atomic is the fence.
__global__ void last_block_by(Counted counted, float* parts, unsigned* count, float* y) {
  parts[blockIdx.x] = 1;  // here
  unsigned old = 0;
  if (counted == Counted::acq_rel) {
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(old)
                 : "l"(count)
                 : "memory");
  } else if (counted == Counted::release) {
    asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(old)
                 : "l"(count)
                 : "memory");
  } else if (counted == Counted::generic) {
    asm volatile("atom.add.release.sys.u32 %0, [%1], 1;" : "=r"(old) : "l"(count) : "memory");
  } else if (counted == Counted::acquire) {
    asm volatile("atom.acquire.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(old)
                 : "l"(count)
                 : "memory");
  } else if (counted == Counted::relaxed) {
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(old)
                 : "l"(count)
                 : "memory");
  } else {
    asm volatile("atom.release.cta.global.add.u32 %0, [%1], 1;"  // here
                 : "=r"(old)
                 : "l"(count)
                 : "memory");
  }
  if (old != gridDim.x - 1) return;
  __threadfence();
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];  // here
  *y = sum;
}
void count_by(Counted counted) {
  last_block_by<<<4, 1>>>(counted, zeros<float>(), zeros<unsigned>(1), zeros<float>(2));
}
CASE(ptx_atomic_that_acquires_and_releases, "") {
  count_by(Counted::acq_rel);
}
CASE(ptx_atomic_that_releases, "") {
  count_by(Counted::release);
}
CASE(ptx_atomic_of_a_generic_address, "") {
  count_by(Counted::generic);
}
CASE(ptx_atomic_that_acquires_where_it_must_release, "global-race",
     {"without a __threadfence() before the atomic"}) {
  count_by(Counted::acquire);
}
CASE(ptx_atomic_that_is_relaxed, "global-race", {"without a __threadfence() before the atomic"}) {
  count_by(Counted::relaxed);
}
CASE(ptx_atomic_that_releases_to_its_block, "global-race",
     {"atomic to the threads of its own block only"}) {
  count_by(Counted::in_block);
}

__global__ void under_lock(unsigned* lock, float* sum, bool releases) {
  if (threadIdx.x != 0) return;
  unsigned was = 1;
  while (was != 0) {
    asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(was)
                 : "l"(lock)
                 : "memory");
  }
  *sum += 1;  // adds
  if (releases) {
    asm volatile("atom.release.gpu.global.exch.b32 _, [%0], 0;" ::"l"(lock) : "memory");
  } else {
    asm volatile("atom.global.exch.b32 _, [%0], 0;" ::"l"(lock) : "memory");
  }
}
CASE(ptx_lock, "") {
  float* sum = zeros<float>(1);
  under_lock<<<8, 32>>>(zeros<unsigned>(), sum, true);
  expect(sum, 1, 8, 0);
}
CASE(ptx_lock_given_back_relaxed, "global-race", {"without a __threadfence() before the atomic"},
     {{"adds", 0, 0}, {"adds", 0, 1}}) {
  under_lock<<<8, 32>>>(zeros<unsigned>(), zeros<float>(1), false);
}

/// What atom gives is what was there.
__global__ void operations_in_shared(unsigned* y) {
  __shared__ unsigned word;
  __shared__ long long wide;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&word));
  const auto wide_at = static_cast<unsigned>(__cvta_generic_to_shared(&wide));
  word = 0;
  wide = -5;
  unsigned old[10];
  asm volatile(
      "atom.relaxed.cta.shared.inc.u32 %0, [%10], 1;"
      "atom.shared::cta.inc.u32 %1, [%10], 1;"
      "atom.acq_rel.cta.shared.dec.u32 %2, [%10], 9;"
      "atom.shared.min.u32 %3, [%10], 6;"
      "atom.shared.max.s32 %4, [%10], -3;"
      "atom.cluster.shared::cluster.or.b32 %5, [%10], 9;"
      "atom.shared.xor.b32 %6, [%10], 1;"
      "atom.shared.and.b32 %7, [%10], 11;"
      "atom.shared.cas.b32 %8, [%10], 10, 4;"
      "atom.exch.relaxed.cta.shared.b32 %9, [%10], 3;"
      : "=r"(old[0]), "=r"(old[1]), "=r"(old[2]), "=r"(old[3]), "=r"(old[4]), "=r"(old[5]),
        "=r"(old[6]), "=r"(old[7]), "=r"(old[8]), "=r"(old[9])
      : "r"(at)
      : "memory");
  const unsigned was[10] = {0, 1, 0, 9, 6, 6, 15, 14, 10, 4};
  for (int i = 0; i < 10; ++i) expect(old[i] == was[i]);
  asm volatile("red.release.cta.shared.add.u32 [%0], 4;" ::"r"(at) : "memory");
  asm volatile("red.shared.min.s64 [%0], %1;" ::"r"(wide_at), "l"(-7LL) : "memory");
  asm volatile("red.shared.max.s64 [%0], %1;" ::"r"(wide_at), "l"(-6LL) : "memory");
  y[0] = word;
  expect(wide == -6);
}
CASE(ptx_atomics_in_shared_memory, "") {
  unsigned* y = zeros<unsigned>();
  operations_in_shared<<<1, 1>>>(y);
  expect(y, 1, 7, 0);
}
__global__ void shared_atomic_by_pointer() {
  __shared__ unsigned word;
  word = 0;
  asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&word) : "memory");  // here
}
CASE(ptx_global_atomic_in_shared_memory, "wrong-address-space", {"without .global"}) {
  shared_atomic_by_pointer<<<1, 1>>>();
}
__global__ void plain_beside_shared_atomic(unsigned* y) {
  __shared__ unsigned word;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&word));
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory");  // adds
  if (threadIdx.x == 0) y[0] = word;                                 // reads
}
CASE(ptx_shared_atomic_beside_a_plain_read, "shared-race", {}, {{"reads", 0}, {"adds", 32}}) {
  plain_beside_shared_atomic<<<1, 64>>>(zeros<unsigned>());
}

// ---- Barriers and warps

__global__ void half_waits() {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 0;" ::: "memory");  // one
  } else {
    asm volatile("barrier.sync 0;" ::: "memory");  // other
  }
}
CASE(ptx_barriers_of_two_lines, "barrier-divergence", {}, {{"one", 0}, {"other", 32}}) {
  half_waits<<<1, 64>>>();
}
__global__ void shuffle_by_ptx(float* y, unsigned mask) {
  float v = static_cast<float>(threadIdx.x);
  asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, %2;" : "=f"(v) : "f"(v), "r"(mask));  // here
  y[threadIdx.x] = v;
}
CASE(ptx_shuffle, "") {
  shuffle_by_ptx<<<1, 32>>>(zeros<float>(), 0xffffffff);
}
CASE(ptx_shuffle_mask, "bad-warp-mask") {
  shuffle_by_ptx<<<1, 32>>>(zeros<float>(), 0xffff);
}

// ---- A predicate guards the load, too

__global__ void guarded(const float* x, float* y, int n) {
  float4 v = {1, 1, 1, 1};
  asm volatile(
      "{\n"
      "  .reg .pred inside;\n"
      "  setp.lt.s32 inside, %5, %6;  // only these lanes\n"
      "  @inside ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w)
      : "l"(x + 4 * threadIdx.x), "r"(static_cast<int>(threadIdx.x)), "r"(n));
  y[threadIdx.x] = v.x;
}
CASE(ptx_guarded_load, "") {
  float* y = zeros<float>();
  guarded<<<1, 32>>>(zeros<float>(1) + kZeroBytes / 4 - 40, y, 10);
  float host[32];
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  assert(host[9] == 0 && host[10] == 1);
}

}  // namespace

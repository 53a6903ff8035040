// Loads by the read-only cache, __ldg() and ld.global.nc: of what no thread of the launch has
// written before. Any other load of the same bytes is right.
#include "tests/simulator/case_kernels.h"

namespace {

template <typename T>
__device__ T plain(const T* p) {
  return *p;
}
template <typename T>
__device__ T read_only(const T* p) {
  return __ldg(p);  // loads
}
template <typename T>
__device__ T at_level_2(const T* p) {
  return __ldcg(p);
}
__device__ float4 by_nc(const float4* p) {
  float4 v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"  // loads by nc
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ float4 by_hinted_nc(const float4* p) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"  // hinted nc
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ float4 by_ptx(const float4* p) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p)
               : "memory");
  return v;
}

// ---- Thread 0 writes, all read behind a barrier

template <typename T, T (*load)(const T*)>
__global__ void hand_on(T* y, T* out) {
  if (threadIdx.x == 0) y[blockIdx.x] = T();  // writes
  __syncthreads();
  out[64 * blockIdx.x + threadIdx.x] = load(y + blockIdx.x);  // hands on
}
CASE_OF_EACH_SIZE(handed_on_plainly, "") {
  hand_on<T, plain<T>><<<2, 64>>>(zeros<T>(), zeros<T>(1));
}
CASE_OF_EACH_SIZE(handed_on_by_ldcg, "") {
  hand_on<T, at_level_2<T>><<<2, 64>>>(zeros<T>(), zeros<T>(1));
}
CASE_OF_EACH_SIZE(handed_on_by_ldg, "read-only-load",
                  {"is written, and then read by way of the read-only cache"},
                  {{"writes", 0, 0}, {"loads", 63, 0, "hands on"}}, 1) {
  hand_on<T, read_only<T>><<<2, 64>>>(zeros<T>(), zeros<T>(1));
}
CASE(handed_on_by_nc, "read-only-load", {"ld.global.nc"},
     {{"writes", 0, 0}, {"loads by nc", 63, 0, "hands on"}}, 1) {
  hand_on<float4, by_nc><<<2, 64>>>(zeros<float4>(), zeros<float4>(1));
}
CASE(handed_on_by_hinted_nc, "read-only-load", {},
     {{"writes", 0, 0}, {"hinted nc", 63, 0, "hands on"}}, 1) {
  hand_on<float4, by_hinted_nc><<<2, 64>>>(zeros<float4>(), zeros<float4>(1));
}
CASE(handed_on_by_other_ptx, "") {
  hand_on<float4, by_ptx><<<2, 64>>>(zeros<float4>(), zeros<float4>(1));
}

// ---- The thread itself has written it; another launch has; it is written afterwards

template <float (*load)(const float*)>
__global__ void write_then_read(float* y) {
  y[threadIdx.x] = 1;                           // writes
  y[64 + threadIdx.x] = load(y + threadIdx.x);  // reads back
}
CASE(own_store_read_plainly, "") {
  write_then_read<plain><<<1, 64>>>(zeros<float>());
}
CASE(own_store_read_by_ldg, "read-only-load", {}, {{"writes", 0}, {"loads", 0, 0, "reads back"}},
     1) {
  write_then_read<read_only><<<1, 64>>>(zeros<float>());
}

__global__ void add_one(const float* x, float* y) {
  y[threadIdx.x] = read_only(x + threadIdx.x) + 1;
}
CASE(launch_before_has_written, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  add_one<<<1, 64>>>(x, y);
  add_one<<<1, 64>>>(y, x);
  add_one<<<1, 64>>>(x, y);
}
CASE(in_place_by_ldg, "") {
  float* x = zeros<float>();
  for (int i = 0; i < 3; ++i) add_one<<<1, 64>>>(x, x);
}

/// A row in two walks: the sum of all its elements, then each of them once more, and overwritten.
__global__ void two_walks_in_place(float* x) {
  __shared__ float sum;
  float own = 0;
  for (int i = threadIdx.x; i < 256; i += 64) own += __ldg(x + i);
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, own);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) x[i] = __ldg(x + i) - sum;
}
CASE(two_walks_in_place_by_ldg, "") {
  two_walks_in_place<<<1, 64>>>(zeros<float>());
}

/// Both elements of a pair are read before one is written.
__global__ void turn_in_place(float2* x) {
  const float2 pair = __ldg(x + threadIdx.x);
  x[threadIdx.x] = make_float2(-pair.y, pair.x);
}
CASE(pairs_in_place_by_ldg, "") {
  turn_in_place<<<1, 64>>>(zeros<float2>());
}

/// A part of a vector is enough, and neighbours are none.
__global__ void beside(float* y, int written) {
  if (threadIdx.x == 0) y[written] = 1;  // writes
  __syncthreads();
  y[8 + threadIdx.x] = read_only(reinterpret_cast<const float4*>(y)).w;  // of four
}
CASE(vector_with_a_written_element, "read-only-load", {},
     {{"writes", 0}, {"loads", 31, 0, "of four"}}, 1) {
  beside<<<1, 32>>>(zeros<float>(), 3);
}
CASE(vector_beside_a_written_element, "") {
  beside<<<1, 32>>>(zeros<float>(), 4);
}

// ---- By an atomic, by another block, with no order at all

__global__ void read_a_sum(float* sum, int* count, float* y) {
  __shared__ bool is_last;
  atomicAdd(sum, 1.0f);  // adds
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (is_last && threadIdx.x == 0) *y = read_only(sum);  // reads the sum
}
CASE(sum_of_atomics_by_ldg, "read-only-load", {},
     {{"adds", 31, 1}, {"loads", 0, 1, "reads the sum"}}, 1) {
  read_a_sum<<<2, 32>>>(zeros<float>(), zeros<int>(1), zeros<float>(2));
}

/// With no barrier it is a race, which is told first.
__global__ void without_a_barrier(float* y) {
  if (threadIdx.x == 0) y[0] = 1;      // writes
  y[64 + threadIdx.x] = read_only(y);  // reads at once
}
CASE(race_by_ldg, "global-race", {}, {{"writes", 0}, {"loads", 32, 0, "reads at once"}}) {
  without_a_barrier<<<1, 64>>>(zeros<float>());
}

}  // namespace

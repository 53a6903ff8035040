// Races in shared memory, between the warps of a block.
#include "tests/simulator/case_kernels.h"

namespace {

// ---- Between the warps of a block

template <typename T>
__global__ void exchange(T* y, bool barrier) {
  __shared__ T s[64];
  s[threadIdx.x] = y[threadIdx.x];  // writes
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];  // reads
}
CASE_OF_EACH_SIZE(exchange_with_barrier, "") {
  exchange<<<1, 64>>>(zeros<T>(), true);
}
// Thread 31 reads before thread 32 has written: told as the missing barrier that it is.
CASE_OF_EACH_SIZE(exchange_without_barrier, "shared-race",
                  {"s[32] is read and written", "two threads of a block",
                   "no __syncthreads() between"},
                  {{"reads", 31}, {"writes", 32}}) {
  exchange<<<1, 64>>>(zeros<T>(), false);
}

template <typename T>
__global__ void dynamic_exchange(T* y, bool barrier) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = reinterpret_cast<T*>(bytes);
  s[threadIdx.x] = y[threadIdx.x];  // writes
  if (barrier) __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];  // reads
}
CASE_OF_EACH_SIZE(dynamic_with_barrier, "") {
  dynamic_exchange<<<1, 64, 64 * sizeof(T)>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(dynamic_without_barrier, "shared-race", {"no __syncthreads() between"},
                  {{"reads", 31}, {"writes", 32}}) {
  dynamic_exchange<<<1, 64, 64 * sizeof(T)>>>(zeros<T>(), false);
}

__device__ inline float from_neighbour(float* s, float value) {
  s[threadIdx.x] = value;  // writes
  __syncthreads();
  return s[63 - threadIdx.x];  // reads
}
__global__ void twice_with_one_array(float* y) {
  __shared__ float s[64];
  const float once = from_neighbour(s, y[threadIdx.x]);  // first
  y[threadIdx.x] = from_neighbour(s, once);              // second
}
CASE(the_calls_of_a_helper, "shared-race", {"written and read"},
     {{"writes", 63, 0, "second"}, {"reads", 0, 0, "first"}}) {
  twice_with_one_array<<<1, 64>>>(zeros<float>());
}

template <typename T>
__global__ void tree(T* y, bool barrier) {
  __shared__ T s[256];
  const unsigned i = threadIdx.x;
  s[i] = y[i];
  __syncthreads();
  for (unsigned d = 128; d > 0; d /= 2) {
    if (i < d) s[i] = s[i + d];  // here
    if (barrier) __syncthreads();
  }
  if (i == 0) y[0] = s[0];
}
CASE_OF_EACH_SIZE(tree_with_barriers, "") {
  tree<<<1, 256>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(tree_without_barriers, "shared-race", {"two threads of a block"}) {
  tree<<<1, 256>>>(zeros<T>(), false);
}

template <typename T>
__global__ void reuse(T* y, bool barrier) {
  __shared__ T s;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) s = y[round];  // writes
    __syncthreads();
    y[threadIdx.x + 64] = s;  // reads
    if (barrier) __syncthreads();
  }
}
CASE_OF_EACH_SIZE(reuse_after_barrier, "") {
  reuse<<<1, 64>>>(zeros<T>(), true);
}
CASE_OF_EACH_SIZE(reuse_at_once, "shared-race", {"s is read and written"},
                  {{"reads", 63}, {"writes", 0}}) {
  reuse<<<1, 64>>>(zeros<T>(), false);
}

__global__ void everybody_reads(float* y) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 1;
  __syncthreads();
  const float v = s;            // reads
  __syncwarp();                 // the warp of the writer has read, the other one perhaps not
  if (threadIdx.x == 0) s = 2;  // writes
  y[threadIdx.x] = v;
}
CASE(reader_in_another_warp, "shared-race", {"read and written"}, {{"reads", 63}, {"writes", 0}}) {
  everybody_reads<<<1, 64>>>(zeros<float>());
}

__global__ void write_after_all_have_read(float* y) {
  __shared__ float s;
  if (threadIdx.x == 63) s = 1;
  __syncthreads();
  float v = s;  // reads
  v += __shfl_xor_sync(~0u, v, 1);
  if (threadIdx.x == 63) s = 2;  // writes
  y[threadIdx.x] = v;
}
CASE(last_thread_overwrites, "shared-race", {"read and written", "no __syncthreads() between"},
     {{"reads", 0}, {"writes", 63}}) {
  write_after_all_have_read<<<1, 64>>>(zeros<float>());
}

__global__ void both_write(float* y) {
  __shared__ float s;
  if (threadIdx.x < 32) s = 1;  // low
  y[threadIdx.x] = 0;
  if (threadIdx.x >= 32) s = 2;  // high
  __syncthreads();
  y[threadIdx.x] = s;
}
CASE(two_lines_write, "shared-race", {"written twice"}, {{"low", 31}, {"high", 32}}) {
  both_write<<<1, 64>>>(zeros<float>());
}

// ---- Atomics, and accesses of several sizes

template <typename T>
__global__ void atomic_after_store(T* y, bool barrier) {
  __shared__ T sum;
  if (threadIdx.x == 0) sum = 0;  // stores
  if (barrier) __syncthreads();
  atomicAdd(&sum, static_cast<T>(1));  // adds
  __syncthreads();
  if (threadIdx.x == 0) y[0] = sum;
}
CASE(atomic_after_barrier_4, "") {
  atomic_after_store<<<1, 64>>>(zeros<float>(), true);
}
CASE(atomic_after_barrier_8, "") {
  atomic_after_store<<<1, 64>>>(zeros<double>(), true);
}
CASE(atomic_without_barrier_2, "shared-race", {"written and updated atomically"},
     {{"stores", 0}, {"adds", 32}}) {
  atomic_after_store<<<1, 64>>>(zeros<__half>(), false);
}
CASE(atomic_without_barrier_4, "shared-race", {"written and updated atomically"},
     {{"stores", 0}, {"adds", 32}}) {
  atomic_after_store<<<1, 64>>>(zeros<float>(), false);
}
CASE(atomic_without_barrier_8, "shared-race", {"written and updated atomically"},
     {{"stores", 0}, {"adds", 32}}) {
  atomic_after_store<<<1, 64>>>(zeros<unsigned long long>(), false);
}

__global__ void flag_beside_array(float* y) {
  __shared__ float s[64];
  __shared__ bool flag;
  s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  s[threadIdx.x] = 1;                    // writes
  if (threadIdx.x == 0) flag = true;     // the first access of one byte: the records are divided
  y[threadIdx.x] = s[63 - threadIdx.x];  // reads
  __syncthreads();
  if (flag) y[threadIdx.x] += 1;
}
CASE(smaller_access_in_between, "shared-race", {"s[0]"}, {{"reads", 63}, {"writes", 0}}) {
  flag_beside_array<<<1, 64>>>(zeros<float>());
}

}  // namespace

// Right kernels in which blocks work together: by atomics of every kind, by a fence and a counter,
// by locks and flags, by a queue of work.
#include <cassert>

#include "tests/simulator/case_kernels.h"

namespace {

template <typename T>
T first_of(const T* device) {
  T host;
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  return host;
}

// ---- Atomics of every kind

template <typename T>
__global__ void add_all(T* sum, T value) {
  atomicAdd(&sum[threadIdx.x % 2], value);
}
template <typename T>
void add_from_many_blocks(T value) {
  add_all<<<5, 64>>>(zeros<T>(), value);
}
CASE(atomic_add_int, "") {
  add_from_many_blocks(1);
  assert(first_of(zeros<int>()) == 0);
}
CASE(atomic_add_unsigned, "") {
  add_from_many_blocks(1u);
}
CASE(atomic_add_unsigned_long_long, "") {
  add_from_many_blocks(1ull);
}
CASE(atomic_add_float, "") {
  add_from_many_blocks(1.0f);
}
CASE(atomic_add_double, "") {
  add_from_many_blocks(1.0);
}
CASE(atomic_add_half, "") {
  add_from_many_blocks(__float2half(1.0f));
}
CASE(atomic_add_half2, "") {
  add_from_many_blocks(__floats2half2_rn(1.0f, 2.0f));
}

__global__ void other_atomics(int* i, unsigned* u, unsigned long long* wide) {
  const int value = blockIdx.x * 64 + threadIdx.x;
  atomicMax(&i[0], value);
  atomicMin(&i[1], value);
  atomicAnd(&i[2], value);
  atomicOr(&i[3], value);
  atomicXor(&i[4], value);
  atomicSub(&i[5], value);
  atomicExch(&i[6], value);
  atomicCAS(&i[7], value, value + 1);
  atomicInc(&u[0], 100u);
  atomicDec(&u[1], 100u);
  atomicMax(&wide[0], static_cast<unsigned long long>(value) << 32 | threadIdx.x);
  atomicAdd_block(&i[8 + blockIdx.x], 1);
  atomicAdd_system(&i[30], 1);
}
CASE(atomics_of_every_kind, "") {
  other_atomics<<<5, 64>>>(zeros<int>(), zeros<unsigned>(1), zeros<unsigned long long>(2));
  assert(first_of(zeros<int>()) == 0);
}

/// A maximum of floats, which CUDA has no atomic for.
__device__ void atomic_max(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int old = atomicAdd(bits, 0);
  while (__int_as_float(old) < value) {
    const int seen = atomicCAS(bits, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
}
__global__ void maximum(float* most) {
  atomic_max(most, static_cast<float>((blockIdx.x * 64 + threadIdx.x) * 37 % 101));
}
CASE(compare_and_swap_loop, "") {
  float* most = zeros<float>();
  maximum<<<5, 64>>>(most);
  assert(first_of(most) == 100);
}

// ---- A fence and a counter

/// Each block leaves a partial sum; the one that comes last adds them up, and resets the counter.
__global__ void sum_in_one_launch(const float* x, float* partial, float* sum, unsigned* count,
                                  int n) {
  __shared__ float s[64];
  __shared__ bool is_last;
  float mine = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) mine += x[i];
  s[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned d = 32; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    is_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;  // it wraps around to 0
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    __threadfence();
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
    *sum = total;
  }
}
CASE(last_block_sums_the_partials, "") {
  for (int launch = 0; launch < 3; ++launch) {
    sum_in_one_launch<<<9, 64>>>(zeros<float>(1), zeros<float>(2), zeros<float>(),
                                 zeros<unsigned>(3), 1000);
  }
}

/// Every thread publishes its own part.
__global__ void each_thread_counts(float* partial, float* sum, int* count) {
  partial[blockIdx.x * 32 + threadIdx.x] = 1;
  __threadfence();
  const int all = gridDim.x * 32;
  if (atomicAdd(count, 1) == all - 1) {
    __threadfence();
    float total = 0;
    for (int i = 0; i < all; ++i) total += partial[i];
    *sum = total;
  }
}
CASE(last_thread_sums_all, "") {
  float* sum = zeros<float>();
  each_thread_counts<<<6, 32>>>(zeros<float>(1), sum, zeros<int>(2));
  assert(first_of(sum) == 192);
}

// ---- Locks and flags

/// Column sums under a lock for each group of rows; the first to come stores, the others add.
__global__ void add_to_groups(int* locks, int* counts, float* sums, int groups) {
  const int group = blockIdx.x % groups;
  if (threadIdx.x == 0) {
    while (atomicCAS(&locks[group], 0, 1) == 1) {
    }
    __threadfence();
  }
  __syncthreads();
  float* mine = sums + group * 64 + threadIdx.x;
  *mine = counts[group] == 0 ? 1.0f : *mine + 1.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    counts[group] = 1;
    __threadfence();
    atomicExch(&locks[group], 0);
  }
}
CASE(lock_guarded_groups, "") {
  float* sums = zeros<float>();
  add_to_groups<<<12, 64>>>(zeros<int>(1), zeros<int>(2), sums, 3);
  assert(first_of(sums) == 4);
}

__global__ void release_by_exchange(int* lock, float* y) {
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) {
      while (atomicExch(lock, 1) == 1) __nanosleep(20);
      __threadfence();
      for (int i = 0; i < 16; ++i) y[i] += 1;
      __threadfence();
      atomicExch(lock, 0);
    }
    __syncthreads();
  }
}
CASE(lock_by_exchange, "") {
  float* y = zeros<float>();
  release_by_exchange<<<10, 32>>>(zeros<int>(1), y);
  assert(first_of(y) == 30);
}

/// A scan over blocks: each waits for the total of the one before.
__global__ void chained_scan(const float* x, float* y, float* totals, int* ready) {
  __shared__ float before;
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < 32; ++i) total += x[blockIdx.x * 32 + i];
    before = 0;
    if (blockIdx.x > 0) {
      while (atomicAdd(&ready[blockIdx.x - 1], 0) == 0) {
      }
      __threadfence();
      before = totals[blockIdx.x - 1];
    }
    totals[blockIdx.x] = before + total;
    __threadfence();
    atomicExch(&ready[blockIdx.x], 1);
  }
  __syncthreads();
  y[blockIdx.x * 32 + threadIdx.x] = before + x[blockIdx.x * 32 + threadIdx.x];
}
CASE(blocks_in_a_chain, "") {
  chained_scan<<<20, 32>>>(zeros<float>(1), zeros<float>(), zeros<float>(2), zeros<int>(3));
}

// ---- Persistent blocks

__global__ void work_queue(unsigned* next, const float* x, float* y, unsigned tiles) {
  __shared__ unsigned tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
    __syncthreads();
    const unsigned mine = tile;
    __syncthreads();
    if (mine >= tiles) break;
    y[mine * 32 + threadIdx.x] = 2 * x[mine * 32 + threadIdx.x];
  }
}
CASE(persistent_blocks_with_a_queue, "") {
  work_queue<<<4, 32>>>(zeros<unsigned>(2), zeros<float>(1), zeros<float>(), 50);
}

/// Sums in registers over all rows of a block, two sets of slots, one barrier a row.
__global__ void persistent_rows(const float* x, float* y, float* column_sums, int rows) {
  __shared__ float slots[2][2];
  float sums = 0;
  int set = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x, set = 1 - set) {
    float v = x[row * 64 + threadIdx.x];
    sums += v;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) slots[set][threadIdx.x / 32] = v;
    __syncthreads();
    y[row * 64 + threadIdx.x] = slots[set][0] + slots[set][1];
  }
  atomicAdd(&column_sums[threadIdx.x], sums);
}
CASE(persistent_rows_with_two_sets, "") {
  persistent_rows<<<3, 64>>>(zeros<float>(1), zeros<float>(), zeros<float>(2), 50);
}

// ---- In place, and blocks that have nothing to do

template <typename T>
__global__ void scale_in_place(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
}
CASE_OF_EACH_SIZE(element_wise_in_place, "") {
  T* x = zeros<T>();
  scale_in_place<<<5, 96>>>(x, x, 300);
}

/// A pair of halves a thread, two pairs further on the next.
__global__ void packed_halves(__half* x, int n) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < n) {
    __half2* pair = reinterpret_cast<__half2*>(x + i);
    *pair = __hadd2(*pair, __floats2half2_rn(1.0f, 1.0f));
  } else if (i < n) {
    x[i] = __hadd(x[i], __float2half(1.0f));
  }
}
CASE(pairs_with_an_odd_tail, "") {
  packed_halves<<<3, 32>>>(zeros<__half>(), 189);
}

/// A warp a row; the last block has rows too many, whose warps return.
__global__ void warp_a_row(float* x, int rows) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  if (row >= rows) return;
  float v = x[row * 32 + threadIdx.x % 32];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  x[row * 32 + threadIdx.x % 32] = v;
}
CASE(warps_without_a_row_return, "") {
  warp_a_row<<<3, 128>>>(zeros<float>(), 9);
}

}  // namespace

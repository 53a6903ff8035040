// cuda::atomic_ref and cuda::atomic: what they compute, and which orders hand memory on.
#include <cuda/atomic>

#include "tests/simulator/case_kernels.h"

namespace {

__global__ void operations(int* words) {
  cuda::atomic_ref<int, cuda::thread_scope_device> word(words[0]);
  word.fetch_add(2);
  word -= 1;
  word.fetch_max(static_cast<int>(threadIdx.x) - 1000);
  __syncthreads();
  expect(word.load() == 64);
  __syncthreads();
  if (threadIdx.x == 0) {
    int expected = 63;
    expect(!word.compare_exchange_strong(expected, 1) && expected == 64);
    expect(word.compare_exchange_weak(expected, 1, cuda::memory_order_relaxed) && word == 1);
    expect(word++ == 1 && ++word == 3 && word.exchange(9) == 3 && word.fetch_min(4) == 9);
    expect((word |= 3) == 7 && word.fetch_xor(1) == 7 && word.fetch_and(4) == 6 && (word = 5) == 5);
  }
  cuda::atomic_ref<float, cuda::thread_scope_device>(reinterpret_cast<float*>(words)[1])
      .fetch_add(0.5f, cuda::memory_order_relaxed);
}
CASE(cuda_atomic_operations, "") {
  operations<<<1, 64>>>(zeros<int>());
}

__global__ void count_in_shared(int* y) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
  if (threadIdx.x == 0) count.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  count.fetch_add(1, cuda::memory_order_relaxed);
  ++count;
  __syncthreads();
  if (threadIdx.x == 0) y[0] = count;
}
CASE(cuda_atomic_in_shared_memory, "") {
  count_in_shared<<<1, 64>>>(zeros<int>());
}

__global__ void set_in_shared(int* y, bool exchanges) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> word;
  if (exchanges) {
    y[0] = word.exchange(1, cuda::memory_order_relaxed);  // here
  } else {
    word.store(1, cuda::memory_order_relaxed);
    y[0] = word.exchange(2, cuda::memory_order_relaxed);
  }
}
CASE(cuda_atomic_exchange_of_unset, "uninitialised-shared", {"word"}, {{"here", 0}}) {
  set_in_shared<<<1, 1>>>(zeros<int>(), true);
}
CASE(cuda_atomic_exchange_of_stored, "") {
  set_in_shared<<<1, 1>>>(zeros<int>(), false);
}

__global__ void plain_beside(int* y) {
  cuda::atomic_ref<int>(y[0]).fetch_add(1, cuda::memory_order_relaxed);
  if (threadIdx.x == 0) y[1] = y[0];  // here
}
CASE(cuda_atomic_beside_a_plain_read, "global-race", {"read"}) {
  plain_beside<<<1, 64>>>(zeros<int>());
}

/// The last block adds up what the others have left.
__global__ void last_block(float* sums, unsigned* count, float* y, cuda::memory_order order) {
  __shared__ bool is_last;
  if (threadIdx.x < 4) sums[blockIdx.x * 4 + threadIdx.x] = 1.0f;  // writes
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> done(*count);
    is_last = done.fetch_add(1, order) == gridDim.x - 1;  // counts
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float sum = 0.0f;
    for (unsigned i = 0; i < 4 * gridDim.x; ++i) sum += sums[i];  // here
    y[0] = sum;
  }
}
CASE(cuda_atomic_acquires_and_releases, "") {
  last_block<<<4, 64>>>(zeros<float>(0), zeros<unsigned>(1), zeros<float>(2),
                        cuda::memory_order_acq_rel);
}
CASE(cuda_atomic_releases_by_default, "") {
  last_block<<<4, 64>>>(zeros<float>(0), zeros<unsigned>(1), zeros<float>(2),
                        cuda::memory_order_seq_cst);
}
CASE(cuda_atomic_relaxed_hands_nothing_on, "global-race",
     {"without a __threadfence() before the atomic"}) {
  last_block<<<4, 64>>>(zeros<float>(0), zeros<unsigned>(1), zeros<float>(2),
                        cuda::memory_order_relaxed);
}

CASE(cuda_atomic_acquires_only, "global-race", {"without a __threadfence() before the atomic"}) {
  last_block<<<4, 64>>>(zeros<float>(0), zeros<unsigned>(1), zeros<float>(2),
                        cuda::memory_order_acquire);
}

__global__ void under_lock(int* lock, float* sum) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> word(*lock);
  int free = 0;
  while (!word.compare_exchange_weak(free, 1, cuda::memory_order_acquire)) free = 0;
  *sum += 1.0f;  // here
  word.store(0, cuda::memory_order_release);
}
CASE(cuda_atomic_lock, "") {
  under_lock<<<8, 32>>>(zeros<int>(0), zeros<float>(1));
}

}  // namespace

// To whom an atomic is one, and for whom a fence orders: scopes of cuda::atomic_ref and of CUDA's
// older functions, and what stands beside atomics without being one.
#include <cuda/atomic>

#include "tests/simulator/case_kernels.h"

namespace {

// ---- Scopes

template <cuda::thread_scope scope>
__global__ void count(int* words, int stride) {
  cuda::atomic_ref<int, scope> word(words[blockIdx.x * stride]);
  word.fetch_add(1, cuda::memory_order_relaxed);  // here
}
CASE(word_of_all_blocks_in_device_scope, "") {
  int* words = zeros<int>();
  count<cuda::thread_scope_device><<<4, 64>>>(words, 0);
  expect(words, 1, 256, 0);
}
CASE(word_of_each_block_in_block_scope, "") {
  int* words = zeros<int>();
  count<cuda::thread_scope_block><<<4, 64>>>(words, 1);
  expect(words, 4, 64, 0);
}
CASE(word_of_all_blocks_in_block_scope, "global-race",
     {"by atomics of two blocks", "atomic to the threads of its own block only"},
     {{"here", 63, 0}, {"here", 0, 1}}) {
  count<cuda::thread_scope_block><<<4, 64>>>(zeros<int>(), 0);
}
CASE(words_of_one_launch_after_the_other, "") {
  int* words = zeros<int>();
  for (int i = 0; i < 3; ++i) count<cuda::thread_scope_block><<<1, 64>>>(words, 0);
  expect(words, 1, 192, 0);
}

__global__ void add_in_block(float* sum, bool narrow) {
  if (narrow && blockIdx.x == 1) {
    atomicAdd_block(sum, 1.0f);  // narrow
  } else {
    atomicAdd(sum, 1.0f);  // wide
  }
}
CASE(added_by_each_block_for_all, "") {
  float* sum = zeros<float>();
  add_in_block<<<3, 32>>>(sum, false);
  expect(sum, 1, 96, 0);
}
CASE(added_by_one_block_for_itself, "global-race", {"a name that ends in _block"},
     {{"wide", 31, 0}, {"narrow", 0, 1}}) {
  add_in_block<<<3, 32>>>(zeros<float>(), true);
}

__global__ void watch_in_block(int* word, int* y) {
  if (blockIdx.x == 0) {
    atomicAdd(word, 1);  // adds
  } else {
    y[threadIdx.x] = cuda::atomic_ref<int, cuda::thread_scope_block>(*word).load();  // looks
  }
}
CASE(word_of_another_block_loaded_in_block_scope, "global-race", {"may miss what another block"},
     {{"adds", 31, 0}, {"looks", 0, 1}}) {
  watch_in_block<<<2, 32>>>(zeros<int>(), zeros<int>(1));
}

__global__ void add_by_ptx(float* sum, bool narrow) {
  if (narrow) {
    asm volatile("red.relaxed.cta.global.add.f32 [%0], %1;" ::"l"(sum), "f"(1.0f)  // here
                 : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(sum), "f"(1.0f) : "memory");
  }
}
CASE(ptx_red_of_the_device, "") {
  float* sum = zeros<float>();
  add_by_ptx<<<3, 32>>>(sum, false);
  expect(sum, 1, 96, 0);
}
CASE(ptx_red_of_the_block, "global-race", {"atomic to the threads of its own block only"}) {
  add_by_ptx<<<3, 32>>>(zeros<float>(), true);
}

__global__ void lock_of_the_block(int* lock, float* sum) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_block> word(*lock);
  int free = 0;
  while (!word.compare_exchange_weak(free, 1, cuda::memory_order_acquire)) free = 0;  // here
  *sum += 1.0f;
  word.store(0, cuda::memory_order_release);  // here
}
CASE(lock_in_block_scope, "global-race", {"atomic to the threads of its own block only"}) {
  lock_of_the_block<<<4, 32>>>(zeros<int>(0), zeros<float>(1));
}

// ---- Fences

enum class Fenced { release, all, acquire, in_block };

/// The last block adds up what the others have left; the counter itself is relaxed.
__global__ void last_block(float* sums, unsigned* done, float* y, Fenced fenced) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = 1.0f;  // writes
    if (fenced == Fenced::release) {
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    } else if (fenced == Fenced::all) {
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst);
    } else if (fenced == Fenced::acquire) {
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    } else {
      cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_block);
    }
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(*done);
    is_last = counter.fetch_add(1, cuda::memory_order_relaxed) == gridDim.x - 1;
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }
  __syncthreads();
  if (is_last && threadIdx.x < gridDim.x) y[threadIdx.x] = sums[threadIdx.x];  // reads
}
void run_last_block(Fenced fenced) {
  last_block<<<4, 32>>>(zeros<float>(0), zeros<unsigned>(1), zeros<float>(2), fenced);
}
CASE(fence_that_releases, "") {
  run_last_block(Fenced::release);
}
CASE(fence_of_every_order, "") {
  run_last_block(Fenced::all);
}
CASE(fence_that_acquires_where_it_must_release, "global-race",
     {"without a __threadfence() before the atomic"}, {{"writes", 0, 0}, {"reads", 0, 3}}) {
  run_last_block(Fenced::acquire);
}
CASE(fence_of_the_block_for_another_block, "global-race",
     {"__threadfence_block() orders for the own block only"}, {{"writes", 0, 0}, {"reads", 0, 3}}) {
  run_last_block(Fenced::in_block);
}

// ---- A flag that hands a value on

__global__ void handed_on(int* flag, float* value, float* y, cuda::memory_order order, bool sets) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 1) {
    *value = 5.0f;  // writes
    if (sets) ready.store(1, order);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) __nanosleep(20);  // waits
    *y = *value;                                                          // reads
  }
}
CASE(flag_that_releases, "") {
  float* y = zeros<float>(2);
  handed_on<<<2, 32>>>(zeros<int>(0), zeros<float>(1), y, cuda::memory_order_release, true);
  expect(y, 1, 5, 0);
}
CASE(flag_that_is_relaxed, "global-race", {"without a __threadfence() before the atomic"},
     {{"writes", 0, 1}, {"reads", 0, 0}}) {
  handed_on<<<2, 32>>>(zeros<int>(0), zeros<float>(1), zeros<float>(2), cuda::memory_order_relaxed,
                       true);
}
CASE(flag_that_nobody_sets, "deadlock", {}, {{"waits", 0, 0}}) {
  handed_on<<<2, 32>>>(zeros<int>(0), zeros<float>(1), zeros<float>(2), cuda::memory_order_release,
                       false);
}

// ---- Where an atomic may lie, and what stands beside it

__global__ void count_at(char* bytes) {
  cuda::atomic_ref<int, cuda::thread_scope_device> word(*reinterpret_cast<int*>(bytes));
  word.fetch_add(1, cuda::memory_order_relaxed);  // here
}
CASE(atomic_ref_between_two_words, "misaligned", {"4"}) {
  count_at<<<1, 32>>>(zeros<char>() + 2);
}
CASE(atomic_ref_past_the_end, "out-of-bounds-global") {
  count_at<<<1, 32>>>(zeros<char>() + kZeroBytes);
}

__global__ void counted_and_set_back(int* word) {
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(*word);
  const int ticket = counter.fetch_add(1, cuda::memory_order_acq_rel);  // counts
  if (ticket == 31) *word = 0;                                          // sets back
}
CASE(counter_set_back_plainly_beside_its_atomics, "global-race", {},
     {{"sets back", 31, 0}, {"counts", 0, 1}}) {
  counted_and_set_back<<<2, 32>>>(zeros<int>());
}

__global__ void all_threads_count(float* sums, unsigned* done, float* y) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) is_last = false;
  __syncthreads();
  sums[blockIdx.x * 32 + threadIdx.x] = 1.0f;  // writes
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(*done);
  if (counter.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) is_last = true;
  __syncthreads();
  if (is_last) y[threadIdx.x] = sums[(gridDim.x - 1) * 32 + threadIdx.x];  // reads
}
CASE(block_that_counts_itself_once_a_thread, "global-race", {},
     {{"reads", 31, 0}, {"writes", 31, 3}}) {
  all_threads_count<<<4, 32>>>(zeros<float>(0), zeros<unsigned>(1), zeros<float>(2));
}

__global__ void counted_before_set(int* y) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> counter;
  if (threadIdx.x == 63) counter.store(0, cuda::memory_order_relaxed);
  counter.fetch_add(1, cuda::memory_order_relaxed);  // here
  __syncthreads();
  if (threadIdx.x == 0) y[0] = counter;
}
CASE(shared_counter_before_it_is_set, "uninitialised-shared", {"counter"}, {{"here", 0}}) {
  counted_before_set<<<1, 64>>>(zeros<int>());
}

}  // namespace

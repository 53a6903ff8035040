// Races in global memory: between blocks, within a block, within a warp.
#include <cassert>
#include <cuda/atomic>

#include "tests/simulator/case_kernels.h"

namespace {

// ---- Between blocks

template <typename T>
__global__ void shift(T* x, unsigned first_block) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == first_block) x[i] = T();        // writes
  if (blockIdx.x != first_block) x[i] = x[i ^ 64];  // reads
}
CASE_OF_EACH_SIZE(another_block_reads, "global-race",
                  {"written and read by threads of two blocks", "nothing orders blocks"},
                  {{"writes", 0, 0}, {"reads", 0, 1}}) {
  shift<<<2, 64>>>(zeros<T>(), 0);
}
CASE_OF_EACH_SIZE(another_block_writes, "global-race",
                  {"read and written by threads of two blocks"},
                  {{"reads", 0, 0}, {"writes", 0, 1}}) {
  shift<<<2, 64>>>(zeros<T>(), 1);
}

__global__ void unguarded(float* y) {
  y[threadIdx.x] += 1;  // here
}
CASE(blocks_add_without_atomics, "global-race", {"written and read"},
     {{"here", 0, 0}, {"here", 0, 1}}) {
  unguarded<<<4, 32>>>(zeros<float>());
}
CASE(launches_are_ordered, "") {
  float* y = zeros<float>();
  for (int i = 0; i < 300; ++i) unguarded<<<1, 64>>>(y + i % 3);
}

__global__ void all_read_one_writes(float* y) {
  y[32 * (blockIdx.x + 1) + threadIdx.x] = y[threadIdx.x];  // reads
  if (blockIdx.x == gridDim.x - 1) y[threadIdx.x] = 1;      // writes
}
CASE(last_block_writes_what_all_read, "global-race", {"read and written by threads of two blocks"},
     {{"reads", 0, 0}, {"writes", 0, 2}}) {
  all_read_one_writes<<<3, 32>>>(zeros<float>());
}

enum class Before { fence_and_barrier, fence, barrier, narrow_fence_and_barrier, nothing };

__global__ void column_sums(float* partial, float* sum, int* count, Before before, unsigned one) {
  __shared__ bool is_last;
  partial[blockIdx.x * 64 + threadIdx.x] = 1;  // writes
  if (before == Before::fence || before == Before::fence_and_barrier) __threadfence();
  if (before == Before::narrow_fence_and_barrier) __threadfence_block();
  if (before != Before::fence && before != Before::nothing) __syncthreads();
  if (threadIdx.x == one) is_last = atomicAdd(count, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!is_last) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b * 64 + threadIdx.x];  // reads
  sum[threadIdx.x] = total;
  if (threadIdx.x == 0) *count = 0;  // ready for the next launch
}
void sum_columns(Before before, unsigned one = 0) {
  float* partial = zeros<float>(1);
  int* count = zeros<int>(2);
  column_sums<<<8, 64>>>(partial, zeros<float>(), count, before, one);
  column_sums<<<8, 64>>>(partial, zeros<float>(), count, before, one);
}
CASE(last_block_with_fence, "") {
  sum_columns(Before::fence_and_barrier);
}
CASE(last_block_without_fence, "global-race",
     {"Both blocks use one word atomically", "without a __threadfence() before the atomic in"},
     {{"writes", 62, 0}, {"reads", 62, 7}}) {
  sum_columns(Before::barrier);
}
CASE(last_block_with_too_narrow_a_fence, "global-race",
     {"without a __threadfence() before", "__threadfence_block() orders for the own block only"},
     {{"writes", 62, 0}, {"reads", 62, 7}}) {
  sum_columns(Before::narrow_fence_and_barrier);
}
CASE(last_block_without_barrier, "global-race",
     {"thread 0 of the other one does not wait for thread 63", "no __syncthreads() lies between."},
     {{"writes", 63, 0}, {"reads", 63, 7}}) {
  sum_columns(Before::fence);
}
// It comes last here, after all that it should wait for.
CASE(last_thread_does_not_wait, "global-race",
     {"thread 63 of the other one does not wait for thread 0", "no __syncthreads() lies between."},
     {{"writes", 0, 0}, {"reads", 0, 7}}) {
  sum_columns(Before::fence, 63);
}
CASE(last_block_without_barrier_and_fence, "global-race",
     {"no __syncthreads() lies between, and no __threadfence()."},
     {{"writes", 63, 0}, {"reads", 63, 7}}) {
  sum_columns(Before::nothing);
}

__global__ void add_under_lock(int* lock, float* group, bool before, bool behind, bool fence,
                               bool acquires = true) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    if (acquires) __threadfence();
  }
  if (before) __syncthreads();
  group[threadIdx.x] += 1;  // here
  if (behind) __syncthreads();
  if (threadIdx.x == 0) {
    if (fence) __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(groups_under_a_lock, "") {
  add_under_lock<<<8, 64>>>(zeros<int>(1), zeros<float>(), true, true, true);
}
CASE(lock_taken_without_fence, "global-race",
     {"written by one block, then read and written over by another one",
      "no __threadfence() lies between it and the read"},
     {{"here", 63, 0}, {"here", 63, 1}}) {
  add_under_lock<<<8, 64>>>(zeros<int>(1), zeros<float>(), true, true, true, false);
}
CASE(lock_released_without_fence, "global-race", {"without a __threadfence() before"},
     {{"here", 63, 0}, {"here", 63, 1}}) {
  add_under_lock<<<8, 64>>>(zeros<int>(1), zeros<float>(), true, true, false);
}
CASE(lock_released_too_early, "global-race",
     {"thread 0 of the other one does not wait for thread 63", "no __syncthreads() lies between."},
     {{"here", 63, 0}, {"here", 63, 1}}) {
  add_under_lock<<<8, 64>>>(zeros<int>(1), zeros<float>(), true, false, true);
}
CASE(only_one_waits_for_the_lock, "global-race",
     {"Of this block thread 0 learns by the atomic in line", "thread 1 does not wait for that"},
     {{"here", 1, 0}, {"here", 1, 1}}) {
  add_under_lock<<<8, 64>>>(zeros<int>(1), zeros<float>(), false, true, true);
}

/// A group is added to by 8 blocks, each of which has its turn.
enum class Turn {
  relaxed,
  fence_of_one,
  fence_of_all,
  narrow_fence,
  acquire,
  acq_rel,
  ptx_acq_rel
};
__global__ void add_in_turn(unsigned* turn, float* group, Turn by) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> now(*turn);
  if (threadIdx.x == 0) {
    const bool acquires = by == Turn::acquire || by == Turn::acq_rel;
    unsigned found = 0;
    do {
      if (by == Turn::ptx_acq_rel) {
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                     : "=r"(found)
                     : "l"(turn), "r"(0u)
                     : "memory");
      } else {
        found = by == Turn::acq_rel
                    ? now.fetch_add(0, cuda::memory_order_acq_rel)
                    : now.load(acquires ? cuda::memory_order_acquire : cuda::memory_order_relaxed);
      }
    } while (found != blockIdx.x);
    if (by == Turn::narrow_fence) __threadfence_block();
  }
  __syncthreads();
  if (by == Turn::fence_of_all || (by == Turn::fence_of_one && threadIdx.x == 63)) __threadfence();
  group[threadIdx.x] += 1;  // here
  __syncthreads();
  if (threadIdx.x == 0) now.fetch_add(1, cuda::memory_order_release);
}
void in_turn(Turn by) {
  add_in_turn<<<8, 64>>>(zeros<unsigned>(1), zeros<float>(), by);
}
CASE(turn_taken_relaxed, "global-race", {"no __threadfence() lies between it and the read"},
     {{"here", 63, 0}, {"here", 63, 1}}) {
  in_turn(Turn::relaxed);
}
CASE(turn_taken_with_a_narrow_fence, "global-race",
     {"no __threadfence() lies between it and the read"}, {{"here", 63, 0}, {"here", 63, 1}}) {
  in_turn(Turn::narrow_fence);
}
CASE(turn_taken_and_others_fence, "global-race",
     {"no __threadfence() lies between it and the read"}, {{"here", 0, 0}, {"here", 0, 1}}) {
  in_turn(Turn::fence_of_one);
}
CASE(turn_taken_and_each_fences, "") {
  in_turn(Turn::fence_of_all);
}
CASE(turn_acquired, "") {
  in_turn(Turn::acquire);
}
CASE(turn_acquired_by_an_update, "") {
  in_turn(Turn::acq_rel);
}
CASE(turn_acquired_in_ptx, "") {
  in_turn(Turn::ptx_acq_rel);
}

/// The lock is acquired; a counter within is relaxed, and tells nothing that is not known.
__global__ void counts_under_lock(int* lock, int* count, float* group) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    atomicAdd(count, 1);
    group[0] += 1;
    __threadfence();
    atomicAdd(count, 1);
    atomicExch(lock, 0);
  }
}
CASE(counter_within_a_lock, "") {
  counts_under_lock<<<8, 64>>>(zeros<int>(1), zeros<int>(2), zeros<float>());
}

/// What the lock guards is known by a flag, the last word that who takes the lock changes.
__global__ void first_sets(int* lock, int* used, float* group, bool fence) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    const bool is_first = atomicExch(used, 1) == 0;
    group[0] = (is_first ? 0.0f : group[0]) + 1;  // sets
    if (fence) __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(flag_within_a_lock, "") {
  first_sets<<<8, 64>>>(zeros<int>(1), zeros<int>(2), zeros<float>(), true);
}
CASE(flag_within_a_lock_released_without_fence, "global-race", {"without a __threadfence() before"},
     {{"sets", 0, 0}, {"sets", 0, 1}}) {
  first_sets<<<8, 64>>>(zeros<int>(1), zeros<int>(2), zeros<float>(), false);
}

/// As under a lock, by loads that are strong.
__global__ void adds_volatile(int* lock, volatile float* group) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    group[0] = group[0] + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(volatile_sum_under_a_lock, "") {
  adds_volatile<<<8, 64>>>(zeros<int>(1), zeros<float>());
}

/// The guide's own example has no fence behind the ticket: who is last reads what others have left
/// once, and writes elsewhere.
__global__ void last_adds_up(unsigned* ticket, float* partial, float* sum) {
  if (threadIdx.x > 0) return;
  partial[blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(ticket, 1) + 1 < gridDim.x) return;
  for (unsigned block = 0; block < gridDim.x; ++block) *sum += partial[block];
}
CASE(last_block_without_a_second_fence, "") {
  last_adds_up<<<8, 32>>>(zeros<unsigned>(1), zeros<float>(), zeros<float>(2));
}

__global__ void flag_for_next_block(float* data, int* flag, bool plain) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    __threadfence();
    if (plain) {
      *flag = 1;  // writes
    } else {
      *static_cast<volatile int*>(flag) = 1;  // sets
    }
  } else {
    while (*static_cast<volatile int*>(flag) == 0) {  // waits
    }
    __threadfence();
    data[1] = data[0];
  }
}
CASE(volatile_flag, "global-race", {"volatile makes no access atomic", "atomicExch()"},
     {{"sets", 0, 0}, {"waits", 0, 1}}) {
  flag_for_next_block<<<2, 1>>>(zeros<float>(), zeros<int>(1), false);
}
CASE(plain_flag, "global-race", {"written and read"}, {{"writes", 0, 0}, {"waits", 0, 1}}) {
  flag_for_next_block<<<2, 1>>>(zeros<float>(), zeros<int>(1), true);
}

__global__ void volatile_sum(volatile float* y) {
  y[threadIdx.x] = y[threadIdx.x] + 1;  // here
}
CASE(volatile_is_not_atomic, "global-race", {"volatile makes no access atomic"},
     {{"here", 0, 0}, {"here", 0, 1}}) {
  volatile_sum<<<2, 32>>>(zeros<float>());
}

__global__ void atomic_or_plain(float* y, bool plain) {
  if (plain && blockIdx.x == 1) {
    y[0] += 1;  // plain
  } else {
    atomicAdd(y, 1.0f);  // atomic
  }
}
CASE(one_block_forgets_the_atomic, "global-race", {"updated atomically and read"},
     {{"atomic", 0, 0}, {"plain", 0, 1}}) {
  atomic_or_plain<<<2, 1>>>(zeros<float>(), true);
}
CASE(all_blocks_use_the_atomic, "") {
  atomic_or_plain<<<64, 64>>>(zeros<float>(), false);
}

// ---- Atomic operations of one's own, by compare and swap

/// As the programming guide writes it ("Atomic Functions").
__device__ double add_by_swaps(double* address, double value) {
  auto* word = reinterpret_cast<unsigned long long*>(address);
  unsigned long long old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed,
                    static_cast<unsigned long long>(__double_as_longlong(
                        value + __longlong_as_double(static_cast<long long>(assumed)))));
  } while (assumed != old);
  return __longlong_as_double(static_cast<long long>(old));
}
__global__ void sum_by_swaps(double* y) {
  __shared__ double sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  add_by_swaps(&sum, 1);
  __syncthreads();
  if (threadIdx.x % 32 == 0) add_by_swaps(y, sum / 2);
}
CASE(compare_and_swap_loop, "") {
  double* y = zeros<double>();
  sum_by_swaps<<<64, 64>>>(y);
  double sum = 0;
  cudaMemcpy(&sum, y, sizeof sum, cudaMemcpyDeviceToHost);
  assert(sum == 64 * 64);
}

__global__ void largest_by_swaps(unsigned* most) {
  const unsigned mine = blockIdx.x * blockDim.x + threadIdx.x + 1;
  unsigned old = *most;
  if (threadIdx.x % 2 == 0) __syncwarp(0x55555555);  // others may swap before it does
  do {
    const unsigned assumed = old;
    old = atomicCAS(most, assumed, mine > assumed ? mine : assumed);
    if (old == assumed) break;
  } while (true);
}
CASE(compare_and_swap_after_a_pause, "") {
  largest_by_swaps<<<4, 64>>>(zeros<unsigned>());
}

/// Who has nothing larger leaves at once, and swaps nothing.
__device__ void take_larger(float* most, float mine) {
  int* word = reinterpret_cast<int*>(most);
  int old = *word;
  while (mine > __int_as_float(old)) {
    const int assumed = old;
    old = atomicCAS(word, assumed, __float_as_int(mine));
    if (old == assumed) break;
  }
}
__global__ void largest_left_at_once(const float* x, float* most) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  take_larger(most, x[i]);
  take_larger(most, x[i / 2]);
  take_larger(most, x[100 - i % 100]);
}
CASE(compare_and_swap_loop_left_at_once, "") {
  float* most = zeros<float>();
  largest_left_at_once<<<4, 64>>>(counting(), most);
  expect(most, 1, 255, 0);
}

__global__ void largest_by_exchange(const float* x, float* most) {
  const float mine = x[threadIdx.x + blockDim.x * (1 - blockIdx.x)];
  if (mine > *most) atomicExch(most, mine);  // here
}
CASE(larger_one_exchanged, "global-race", {"updated atomically"}) {
  largest_by_exchange<<<2, 32>>>(counting(), zeros<float>());
}

enum class Then { adds, returns, reads_again, swaps_another, swaps_in_vain };

template <Then then>
__global__ void read_and(unsigned* word, unsigned* y) {
  if (blockIdx.x == 0) {
    atomicAdd(word, 1);  // updates
    return;
  }
  const unsigned old = *word;  // reads
  y[0] = old;
  if (then == Then::returns) return;
  if (then == Then::adds) atomicAdd(word, 1);
  if (then == Then::reads_again) y[0] += *word;
  if (then == Then::swaps_another) atomicCAS(word + 1, old, old + 1);
  if (then == Then::swaps_in_vain) atomicCAS(word, old + 1, old);
}
template <Then then>
void run_read_and() {
  read_and<then><<<2, 1>>>(zeros<unsigned>(), zeros<unsigned>(1));
}
CASE(read_then_added, "global-race", {"updated atomically and read"},
     {{"updates", 0, 0}, {"reads", 0, 1}}) {
  run_read_and<Then::adds>();
}
CASE(read_only, "global-race", {"updated atomically and read"},
     {{"updates", 0, 0}, {"reads", 0, 1}}) {
  run_read_and<Then::returns>();
}
CASE(read_twice, "global-race", {"updated atomically and read"},
     {{"updates", 0, 0}, {"reads", 0, 1}}) {
  run_read_and<Then::reads_again>();
}
CASE(read_and_another_swapped, "global-race", {"updated atomically and read"},
     {{"updates", 0, 0}, {"reads", 0, 1}}) {
  run_read_and<Then::swaps_another>();
}
CASE(read_and_swapped_in_vain, "global-race", {"updated atomically and read"},
     {{"updates", 0, 0}, {"reads", 0, 1}}) {
  run_read_and<Then::swaps_in_vain>();
}

// ---- Within a block, and within a warp

template <typename T>
__global__ void in_place(T* x, unsigned partner, bool barrier) {
  const T v = x[threadIdx.x ^ partner];  // reads
  if (barrier) __syncthreads();
  x[threadIdx.x] = v;  // writes
}
CASE_OF_EACH_SIZE(in_place_within_block, "global-race",
                  {"two threads of a block with no __syncthreads() between"},
                  {{"writes", 0}, {"reads", 32}}) {
  in_place<<<1, 64>>>(zeros<T>(), 32, false);
}
CASE_OF_EACH_SIZE(in_place_with_barrier, "") {
  in_place<<<1, 64>>>(zeros<T>(), 32, true);
}
CASE_OF_EACH_SIZE(in_place_within_warp, "global-race", {"two lanes of a warp with no __syncwarp()"},
                  {{"writes", 0}, {"reads", 1}}) {
  in_place<<<1, 64>>>(zeros<T>(), 1, false);
}
CASE_OF_EACH_SIZE(in_place_own_element, "") {
  in_place<<<1, 64>>>(zeros<T>(), 0, false);
}

template <typename T>
__global__ void rotate_pairs(T* x) {
  T* pair = x + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  const T first = pair[0];
  pair[0] = pair[1];
  pair[1] = first;
}
CASE_OF_EACH_SIZE(in_place_pairs, "") {
  rotate_pairs<<<2, 64>>>(zeros<T>());
}

// ---- Neighbours in one word, each with its own thread

template <typename T>
__global__ void own_piece(T* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i];
}
CASE_OF_EACH_SIZE(neighbours_in_a_word, "") {
  own_piece<<<7, 33>>>(zeros<T>());
}

template <typename Small>
__global__ void words_then_pieces(unsigned long long* words) {
  words[threadIdx.x] = 1;
  __syncthreads();
  reinterpret_cast<Small*>(words)[threadIdx.x] = Small();
}
CASE_OF_EACH_SIZE(pieces_after_words, "") {
  words_then_pieces<T><<<1, 128>>>(zeros<unsigned long long>());
}

__global__ void vector_and_scalar(float* x, bool barrier) {
  reinterpret_cast<float4*>(x)[threadIdx.x] = float4{1, 2, 3, 4};  // vectors
  if (barrier) __syncthreads();
  x[128 + threadIdx.x] = 5;  // scalars
}
CASE(vectors_then_scalars, "") {
  vector_and_scalar<<<1, 64>>>(zeros<float>(), true);
}
CASE(vectors_race_with_scalars, "global-race", {"written twice by two threads of a block"},
     {{"scalars", 0}, {"vectors", 32}}) {
  vector_and_scalar<<<1, 64>>>(zeros<float>(), false);
}

// Each party is told with its own size.
__global__ void wide_and_narrow(float* x) {
  if (threadIdx.x < 32) {
    reinterpret_cast<double*>(x)[threadIdx.x] = 1;  // wide
  } else {
    x[threadIdx.x - 32] = 5;  // narrow
  }
}
CASE(eight_bytes_race_with_four, "global-race", {"written twice by two threads of a block"},
     {{"wide", 0, 0, nullptr, "writes 8 bytes"}, {"narrow", 32, 0, nullptr, "writes 4 bytes"}}) {
  wide_and_narrow<<<1, 64>>>(zeros<float>());
}

}  // namespace

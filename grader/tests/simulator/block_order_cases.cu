// The order of a launch's blocks, and launches of which only a sample of the blocks runs.
#include <cuda/atomic>

#include <cassert>
#include <vector>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

using simulator::BlockOrder;

/// Puts back what a case asks for.
struct Asked {
  explicit Asked(BlockOrder order, unsigned seed = 0, unsigned long long most = 0) {
    simulator::set_block_order(order, seed);
    simulator::run_sample_of_blocks(most);
  }
  ~Asked() {
    simulator::set_block_order(BlockOrder::rising);
    simulator::run_sample_of_blocks(0);
  }
};

__global__ void note_turn(unsigned* count, unsigned* turns) {
  if (threadIdx.x == 0) turns[blockIdx.y * gridDim.x + blockIdx.x] = 1 + atomicAdd(count, 1u);
}

/// For each block its turn, from 1; 0 for one that did not run.
std::vector<unsigned> turns_of(dim3 grid, unsigned threads = 1) {
  std::vector<unsigned> turns(grid.x * grid.y);
  unsigned* noted = zeros<unsigned>(1);
  note_turn<<<grid, threads>>>(zeros<unsigned>(), noted);
  cudaMemcpy(turns.data(), noted, turns.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
  return turns;
}

CASE(blocks_rise, "") {
  const std::vector<unsigned> turns = turns_of(dim3(5, 3));
  for (unsigned i = 0; i < 15; ++i) assert(turns[i] == i + 1);
}
CASE(blocks_fall, "") {
  const Asked asked(BlockOrder::falling);
  const std::vector<unsigned> turns = turns_of(dim3(5, 3));
  for (unsigned i = 0; i < 15; ++i) assert(turns[i] == 15 - i);
}
CASE(blocks_are_shuffled, "") {
  for (unsigned blocks : {1u, 2u, 7u, 64u, 1000u}) {
    std::vector<unsigned> before;
    for (unsigned seed = 0; seed < 3; ++seed) {
      const Asked asked(BlockOrder::shuffled, seed);
      const std::vector<unsigned> turns = turns_of(dim3(blocks));
      std::vector<bool> came(blocks);
      for (unsigned turn : turns) {
        assert(turn >= 1 && !came[turn - 1]);
        came[turn - 1] = true;
      }
      assert(blocks < 7 || turns != before);
      before = turns;
    }
  }
}

/// Each adds one. Without a loop that is lost where another one has come between.
__global__ void count_by_swaps(unsigned* global, bool again) {
  __shared__ unsigned own;
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  for (unsigned* word : {&own, global}) {
    unsigned old = *word, assumed;
    do {
      assumed = old;
      old = atomicCAS(word, assumed, assumed + 1);
    } while (again && old != assumed);
  }
  __syncthreads();
  if (threadIdx.x == 0) global[1 + blockIdx.x] = own;
}
std::vector<unsigned> counted_by_swaps(BlockOrder order, bool again) {
  const Asked asked(order);
  unsigned* count = zeros<unsigned>();
  count_by_swaps<<<4, 48>>>(count, again);
  std::vector<unsigned> counts(5);
  cudaMemcpy(counts.data(), count, counts.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
  return counts;
}
CASE(swaps_in_a_loop_count_all, "") {
  for (const BlockOrder order : {BlockOrder::rising, BlockOrder::falling, BlockOrder::shuffled}) {
    const std::vector<unsigned> counts = counted_by_swaps(order, true);
    assert(counts == std::vector<unsigned>({192, 48, 48, 48, 48}));
  }
}
CASE(a_swap_in_vain_shows_where_blocks_are_shuffled, "") {
  const std::vector<unsigned> counts = counted_by_swaps(BlockOrder::shuffled, false);
  assert(counts[1] < 48 || counts[0] < 192);
}

__global__ void note_turn_of_thread(unsigned* count, unsigned* turns) {
  turns[threadIdx.x] = atomicAdd(count, 1u);
}
CASE(the_last_thread_goes_first_where_blocks_are_shuffled, "") {
  for (const bool is_shuffled : {false, true}) {
    const Asked asked(is_shuffled ? BlockOrder::shuffled : BlockOrder::rising);
    unsigned* noted = zeros<unsigned>(1);
    note_turn_of_thread<<<1, 80>>>(zeros<unsigned>(), noted);
    unsigned turns[80];
    cudaMemcpy(turns, noted, sizeof(turns), cudaMemcpyDeviceToHost);
    for (unsigned i = 0; i < 80; ++i) assert(turns[i] == (is_shuffled ? 79 - i : i));
  }
}

/// Blocks draw pieces of work until there are no more.
__global__ void draw(unsigned* next, unsigned pieces, unsigned* drawn) {
  __shared__ unsigned piece;
  for (;;) {
    if (threadIdx.x == 0) piece = atomicAdd(next, 1u);
    __syncthreads();
    const bool is_over = piece >= pieces;
    __syncthreads();
    if (is_over) return;
    if (threadIdx.x == 0) ++drawn[blockIdx.x];
  }
}
CASE(blocks_that_share_work, "") {
  for (const bool is_shuffled : {false, true}) {
    const Asked asked(is_shuffled ? BlockOrder::shuffled : BlockOrder::rising);
    unsigned* noted = zeros<unsigned>(1);
    draw<<<4, 64>>>(zeros<unsigned>(), 12, noted);
    unsigned drawn[4];
    cudaMemcpy(drawn, noted, sizeof(drawn), cudaMemcpyDeviceToHost);
    for (unsigned i = 0; i < 4; ++i) assert(drawn[i] == (is_shuffled ? 3 : i == 0 ? 12 : 0));
  }
}
CASE(a_sample_of_the_blocks, "") {
  const Asked asked(BlockOrder::shuffled, 1, 10);
  const std::vector<unsigned> turns = turns_of(dim3(1000));
  unsigned ran = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    ran += turns[i] > 0;
    assert((turns[i] > 0) == (i % 111 == 0));
  }
  assert(ran == 10);
}

CASE(a_sample_of_one_block_is_where_the_order_begins, "") {
  for (const BlockOrder order : {BlockOrder::rising, BlockOrder::falling}) {
    const Asked asked(order, 0, 1);
    const std::vector<unsigned> turns = turns_of(dim3(1000));
    const unsigned first = order == BlockOrder::rising ? 0 : 999;
    for (unsigned i = 0; i < 1000; ++i) assert(turns[i] == (i == first ? 1 : 0));
  }
}
CASE(a_sample_has_fewer_large_blocks, "") {
  const Asked asked(BlockOrder::falling, 0, 20);
  const unsigned cases[][3] = {{989, 128, 52}, {1000, 256, 111}, {1000, 1024, 333}};
  for (const auto& [blocks, threads, apart] : cases) {
    const std::vector<unsigned> turns = turns_of(blocks, threads);
    for (unsigned i = 0; i < blocks; ++i) assert((turns[i] > 0) == (i % apart == 0));
  }
}
CASE(a_sample_has_all_blocks_across, "") {
  const Asked asked(BlockOrder::shuffled, 1, 10);
  for (const dim3 grid : {dim3(1000, 2), dim3(2, 1000), dim3(1000, 4), dim3(4, 1000)}) {
    const std::vector<unsigned> turns = turns_of(grid);
    for (unsigned i = 0; i < turns.size(); ++i) {
      const unsigned along = grid.x > grid.y ? i % grid.x : i / grid.x;
      assert((turns[i] > 0) == (along % 111 == 0));
    }
  }
}
__global__ void read_unwritten(const float* x, float* y) {
  y[blockIdx.x] = x[blockIdx.x];  // here
}
CASE(what_a_sample_reads_is_written, "uninitialised-global", {"nobody has written"}) {
  const Asked asked(BlockOrder::rising, 0, 10);
  float* x = nullptr;
  cudaMalloc(&x, 1000 * sizeof(float));
  read_unwritten<<<1000, 1>>>(x, zeros<float>());
  cudaFree(x);
}

/// Two launches: the second one uses what each block of the first has written.
__global__ void first_stage(float* partial) {
  partial[blockIdx.x] = 1;
}
__global__ void second_stage(const float* partial, float* sums) {
  sums[blockIdx.x] = partial[blockIdx.x];
}
CASE(stages_of_a_sample, "") {
  const Asked asked(BlockOrder::rising, 0, 10);
  float* partial = nullptr;
  cudaMalloc(&partial, 1 << 22);
  first_stage<<<1 << 20, 1>>>(partial);
  second_stage<<<64, 1>>>(partial, zeros<float>());
  cudaFree(partial);
}
__global__ void wait_for_the_one_before(int* ready) {
  while (blockIdx.x > 0 && atomicAdd(&ready[blockIdx.x - 1], 0) == 0) {
  }
  atomicExch(&ready[blockIdx.x], 1);
}
CASE(a_sample_may_wait_in_vain, "") {
  const Asked asked(BlockOrder::rising, 0, 10);
  wait_for_the_one_before<<<1000, 1>>>(zeros<int>());
}
CASE(a_chain_in_falling_order, "") {
  const Asked asked(BlockOrder::falling);
  wait_for_the_one_before<<<100, 1>>>(zeros<int>());
}

__global__ void write_beyond(float* y) {
  y[blockIdx.x] = 1;  // here
}
CASE(the_last_block_is_in_the_sample, "out-of-bounds-global", {"1 element past the end"}) {
  const Asked asked(BlockOrder::rising, 0, 10);
  write_beyond<<<kZeroBytes / 4 + 1, 1>>>(zeros<float>());
}
CASE(a_launch_is_checked_as_a_whole, "invalid-launch", {"65535"}) {
  const Asked asked(BlockOrder::rising, 0, 10);
  write_beyond<<<dim3(1, 65536), 1>>>(zeros<float>());  // here
}

// ---- Two atomics are not one: other blocks come between them

enum class Draws { ticket, count_read_back, by_load_and_store };

/// Each block writes to the place that it draws.
__global__ void draw(int* next, int* y, Draws draws) {
  cuda::atomic_ref<int, cuda::thread_scope_device> count(*next);
  int mine = 0;
  if (draws == Draws::by_load_and_store) {
    mine = count.load(cuda::memory_order_relaxed);
    count.store(mine + 1, cuda::memory_order_relaxed);
  } else {
    mine = count.fetch_add(1, cuda::memory_order_relaxed);
    if (draws == Draws::count_read_back) mine = count.load(cuda::memory_order_relaxed) - 1;
  }
  y[mine] = blockIdx.x;  // here
}
void draw_shuffled(Draws draws) {
  const Asked shuffled(BlockOrder::shuffled, 1);
  draw<<<8, 1>>>(zeros<int>(0), zeros<int>(1), draws);
}
CASE(place_by_ticket, "") {
  draw_shuffled(Draws::ticket);
}
CASE(place_by_a_count_that_is_read_back, "warning: global-race", {"They write different values"}) {
  draw_shuffled(Draws::count_read_back);
}
CASE(place_by_an_atomic_load_and_an_atomic_store, "warning: global-race",
     {"They write different values"}) {
  draw_shuffled(Draws::by_load_and_store);
}

}  // namespace

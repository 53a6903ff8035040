// Asynchronous stores (st.async) into shared memory of the blocks of a cluster, and arrivals at
// barriers there.
#include <cooperative_groups.h>
#include <cuda/ptx>

#include <cassert>

#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

namespace {

// ---- Shares: each block's go to all

enum class Fault {
  none,
  no_cluster_wait,
  no_wait,
  asks_once,
  one_byte_more,
  one_share_less,
  written_twice,
  ends_early
};

constexpr unsigned kBlocks = 4, kWarps = 2;

/// Each warp's sum goes to all blocks of the cluster, which add them up.
__global__ void sums(float* y, Fault fault) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t arrived;
  __shared__ float shares[kBlocks * kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    const unsigned more = fault == Fault::one_byte_more ? 1 : 0;
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived,
                                   4 * blocks * kWarps + more);
  }
  cluster.barrier_arrive();
  const float value = static_cast<float>(1 + rank);
  if (fault != Fault::no_cluster_wait) cluster.barrier_wait();  // waits for the cluster
  if (lane < blocks && !(fault == Fault::one_share_less && rank == 1 && warp == 1)) {
    const unsigned to = rank * kWarps + (fault == Fault::written_twice ? 0 : warp);
    ptx::st_async(cluster.map_shared_rank(shares, lane) + to, value,  // stores
                  cluster.map_shared_rank(&arrived, lane));
  }
  if (fault == Fault::no_cluster_wait) cluster.barrier_wait();
  if (fault == Fault::ends_early && rank == 1) return;
  if (fault == Fault::asks_once) ptx::mbarrier_try_wait_parity(&arrived, 0);
  if (fault != Fault::no_wait && fault != Fault::asks_once) {
    while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {  // waits
    }
  }
  float sum = 0;
  for (unsigned i = 0; i < blocks * kWarps; ++i) sum += shares[i];  // reads
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;                   // last
}
void run_sums(float* y, Fault fault, unsigned clusters = 1) {
  const auto config = config_of(clusters * kBlocks, 32 * kWarps, kBlocks);
  cudaLaunchKernelEx(&config, sums, y, fault);
}
CASE(async_stores_of_a_cluster, "") {
  float* y = zeros<float>();
  run_sums(y, Fault::none, 3);
  expect(y, 3 * kBlocks * 32 * kWarps, 20, 0);
}
CASE(async_stores_of_a_cluster_of_one, "") {
  float* y = zeros<float>();
  sums<<<2, 32 * kWarps>>>(y, Fault::none);
  expect(y, 2 * 32 * kWarps, 2, 0);
}
CASE(async_stores_before_the_barrier, "cluster-lifetime", {"may not have begun"},
     {{"stores", 1, 0}}) {
  run_sums(zeros<float>(), Fault::no_cluster_wait);
}
CASE(async_stores_not_awaited, "copy-not-awaited",
     {"shares[6] is read before the asynchronous store to it", "the thread that reads has"},
     {{"stores", 3, 3}, {"reads", 63, 3}}) {
  run_sums(zeros<float>(), Fault::no_wait);
}
CASE(async_stores_asked_for_once, "copy-not-awaited", {"nobody has waited for that"},
     {{"stores", 3, 3}, {"reads", 63, 3}}) {
  run_sums(zeros<float>(), Fault::asks_once);
}
CASE(async_stores_of_fewer_bytes, "deadlock", {"expects 1 more bytes, which never come"},
     {{"waits", 0, 0}}) {
  run_sums(zeros<float>(), Fault::one_byte_more);
}
CASE(async_store_that_is_missing, "deadlock", {"expects 4 more bytes, which never come"},
     {{"waits", 0, 0}}) {
  run_sums(zeros<float>(), Fault::one_share_less);
}
CASE(async_stores_to_one_place, "copy-overwritten", {"shares[6] is written before"},
     {{"stores", 0, 3}, {"stores", 32, 3}}) {
  run_sums(zeros<float>(), Fault::written_twice);
}
CASE(async_stores_to_a_block_that_ends, "cluster-lifetime", {"may have ended"},
     {{"stores", 1, 0}, {"waits for the cluster", 63, 1}}) {
  run_sums(zeros<float>(), Fault::ends_early);
}

// ---- Where a store goes

enum class To { there, other_barrier, misaligned, outside, no_barrier, global };
__global__ void one_store(float* y, To to) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t arrived;
  extern __shared__ float2 s[];
  if (threadIdx.x == 0 && to != To::no_barrier) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared,
                                   &arrived, 8);
  }
  cluster.sync();
  const unsigned other = cluster.block_rank() ^ 1;
  float2* place = cluster.map_shared_rank(s, other) + (to == To::outside ? 2 : 0);
  if (to == To::misaligned) {
    place = reinterpret_cast<float2*>(reinterpret_cast<float*>(place) + 1);
  }
  if (to == To::global) place = reinterpret_cast<float2*>(y);
  uint64_t* const bar =
      cluster.map_shared_rank(&arrived, to == To::other_barrier ? cluster.block_rank() : other);
  ptx::st_async(place, make_float2(3, 4), bar);  // here
  while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {
  }
  y[cluster.block_rank()] = s[0].x + s[0].y;
}
void run_one_store(float* y, To to) {
  const auto config = config_of(2, 1, 2, 16);
  cudaLaunchKernelEx(&config, one_store, y, to);
}
CASE(async_store_to_a_neighbour, "") {
  float* y = zeros<float>();
  run_one_store(y, To::there);
  expect(y, 2, 7, 0);
}
CASE(async_store_that_counts_elsewhere, "invalid-copy",
     {"to shared memory of block 0 that is to count at a barrier of block 1", "the same block"}) {
  run_one_store(zeros<float>(), To::other_barrier);
}
CASE(async_store_misaligned, "misaligned", {"Writes 8 bytes", "a multiple of 8"}) {
  run_one_store(zeros<float>(), To::misaligned);
}
CASE(async_store_outside, "out-of-bounds-shared", {"dynamic shared memory[2]"}) {
  run_one_store(zeros<float>(), To::outside);
}
CASE(async_store_at_no_barrier, "uninitialised-shared", {"that no thread of it has initialised"}) {
  run_one_store(zeros<float>(), To::no_barrier);
}
CASE(async_store_to_global_memory, "invalid-copy", {"to what is no shared memory"}) {
  run_one_store(zeros<float>(), To::global);
}

/// Each size that there is: four stores of rank 0 fill a block's 48 bytes.
__global__ void sizes(unsigned* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t arrived;
  __shared__ alignas(16) unsigned s[12];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived,
                                   48);
  }
  cluster.sync();
  if (cluster.block_rank() == 0) {
    const unsigned four[4] = {0, 1, 2, 3}, two[2] = {4, 5};
    const unsigned long long wide[2] = {0x700000006, 0x900000008};
    unsigned* const to = cluster.map_shared_rank(s, 1);
    uint64_t* const bar = cluster.map_shared_rank(&arrived, 1);
    ptx::st_async(to, four, bar);
    ptx::st_async(to + 4, two, bar);
    ptx::st_async(reinterpret_cast<unsigned long long*>(to + 6), wide[0], bar);
    ptx::st_async(reinterpret_cast<unsigned long long*>(to + 8), wide[1], bar);
    ptx::st_async(to + 10, 10u, bar);
    ptx::st_async(to + 11, 11u, bar);
  } else {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &arrived, 0)) {
    }
    for (unsigned i = 0; i < 12; ++i) y[i] = s[i];
  }
}
CASE(async_stores_of_each_size, "") {
  unsigned* y = zeros<unsigned>();
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, sizes, y);
  expect(y, 12, 0, 1);
}

// ---- Phase after phase: a place is stored to again when its block has said that it is read

struct Ring {
  bool waits = true, tells_all = true;
  unsigned bytes = 4;
};
__global__ void rows(float* y, int count, Ring how) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t arrived, read;
  __shared__ float shares[kBlocks];
  const unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::mbarrier_init(&read, blocks);
  }
  cluster.sync();
  for (int row = 0; row < count; ++row) {
    const unsigned parity = static_cast<unsigned>(row) % 2;
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived,
                                     how.bytes * blocks);
    }
    if (row > 0 && how.waits) {
      while (!ptx::mbarrier_try_wait_parity(&read, parity ^ 1)) {  // frees
      }
    }
    if (threadIdx.x < blocks) {
      ptx::st_async(cluster.map_shared_rank(shares, threadIdx.x) + rank,  // stores
                    static_cast<float>(row + 1), cluster.map_shared_rank(&arrived, threadIdx.x));
    }
    while (!ptx::mbarrier_try_wait_parity(&arrived, parity)) {  // waits
    }
    float sum = 0;
    for (unsigned i = 0; i < blocks; ++i) sum += shares[i];  // reads
    y[(row * blocks + rank) * blockDim.x + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < blocks && (how.tells_all || threadIdx.x > 0)) {
      ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                           cluster.map_shared_rank(&read, threadIdx.x));
    }
  }
  cluster.sync();  // ends
}
void run_rows(float* y, Ring how) {
  const auto config = config_of(kBlocks, 64, kBlocks);
  cudaLaunchKernelEx(&config, rows, y, 3, how);
}
CASE(async_stores_row_by_row, "") {
  float* y = zeros<float>();
  run_rows(y, Ring());
  expect(y, 256, 4, 0);
  expect(y + 256, 256, 8, 0);
  expect(y + 512, 256, 12, 0);
}
CASE(async_stores_to_what_may_not_be_read, "copy-overwritten", {"shares[0]"},
     {{"stores", 1, 0}, {"stores", 1, 0}}) {
  Ring how;
  how.waits = false;
  run_rows(zeros<float>(), how);
}
CASE(async_stores_of_more_bytes, "invalid-barrier",
     {"Asynchronous stores bring more bytes", "expect, 8", "mbarrier_arrive_expect_tx()"},
     {{"stores", 0, 1}, {"waits", 0, 0}}) {
  Ring how;
  how.bytes = 2;
  run_rows(zeros<float>(), how);
}
CASE(arrivals_of_a_cluster_that_never_come, "deadlock", {"expects 4 more arrivals, which never"},
     {{"frees", 0, 0}}) {
  Ring how;
  how.tells_all = false;
  run_rows(zeros<float>(), how);
}

/// One place, read and stored to again with no barrier that says so: it has landed by then.
__global__ void stored_again(float* y, bool tells) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t arrived, asked;
  __shared__ float share;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::mbarrier_init(&asked, 1);
  }
  cluster.sync();
  for (unsigned phase = 0; phase < 2; ++phase) {
    if (cluster.block_rank() == 0) {
      if (phase > 0) {
        while (!ptx::mbarrier_try_wait_parity(&asked, 0)) {
        }
      }
      ptx::st_async(cluster.map_shared_rank(&share, 1), 1.0f,  // stores
                    cluster.map_shared_rank(&arrived, 1));
      continue;
    }
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived,
                                   4);
    while (!ptx::mbarrier_try_wait_parity(&arrived, phase)) {
    }
    if (phase == 0 && !tells) {
      ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                           cluster.map_shared_rank(&asked, 0));
    }
    y[phase] = share;  // reads
    if (phase == 0 && tells) {
      ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                           cluster.map_shared_rank(&asked, 0));
    }
  }
}
CASE(async_store_behind_an_arrival, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, stored_again, y, true);
  expect(y, 2, 1, 0);
}
CASE(async_store_before_what_it_overwrites_is_read, "shared-race",
     {"share is read and written", "the others are done with what was there"},
     {{"reads", 0, 1}, {"stores", 0, 0}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, stored_again, zeros<float>(), false);
}

// ---- What else is ordered

enum class Way { arrival, store };
/// Rank 1 writes into rank 0's memory, and lets it know: by an arrival, or by an asynchronous
/// store, which orders nothing but itself.
__global__ void hands_over(float* y, Way way) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t arrived;
  __shared__ float data, word;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    if (way == Way::store) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived,
                                     4);
    }
  }
  cluster.sync();
  if (cluster.block_rank() == 1) {
    *cluster.map_shared_rank(&data, 0) = 5;  // writes
    if (way == Way::store) {
      ptx::st_async(cluster.map_shared_rank(&word, 0), 1.0f, cluster.map_shared_rank(&arrived, 0));
    } else {
      ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                           cluster.map_shared_rank(&arrived, 0), 1);
    }
  } else {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &arrived, 0)) {
    }
    y[0] = data;  // reads
  }
  cluster.sync();
}
CASE(writes_before_an_arrival, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, hands_over, y, Way::arrival);
  expect(y, 1, 5, 0);
}
CASE(writes_before_an_async_store, "shared-race", {"data is written and read"},
     {{"writes", 0, 1}, {"reads", 0, 0}}, 1) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, hands_over, zeros<float>(), Way::store);
}

// ---- Barriers of another block

enum class Use { wait, init, own_arrival, expect };
__global__ void uses(Use use) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t bar;
  ptx::mbarrier_init(&bar, 1);
  cluster.sync();
  uint64_t* const other = cluster.map_shared_rank(&bar, cluster.block_rank() ^ 1);
  if (use == Use::wait) (void)ptx::mbarrier_try_wait_parity(other, 0);  // wait
  if (use == Use::init) ptx::mbarrier_init(other, 1);                   // init
  if (use == Use::own_arrival) (void)ptx::mbarrier_arrive(other);       // arrival
  if (use == Use::expect) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, other,
                                   0);
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
  }
  cluster.sync();
}
void run_uses(Use use) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, uses, use);
}
CASE(arrival_that_expects_bytes_at_a_neighbours, "") {
  run_uses(Use::expect);
}
CASE(wait_at_a_neighbours_barrier, "invalid-barrier",
     {"Only the threads of its own block may wait"}, {{"wait", 0, 1}}) {
  run_uses(Use::wait);
}
CASE(init_of_a_neighbours_barrier, "invalid-barrier", {"initialises a barrier in another block's"},
     {{"init", 0, 1}}) {
  run_uses(Use::init);
}
CASE(own_arrival_at_a_neighbours_barrier, "invalid-barrier", {"space_cluster"},
     {{"arrival", 0, 1}}) {
  run_uses(Use::own_arrival);
}

/// Nobody may arrive where the block may have ended.
__global__ void arrives_late(bool waits) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t bar;
  ptx::mbarrier_init(&bar, 1);
  cluster.sync();  // last
  if (cluster.block_rank() == 1) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,  // arrives
                         cluster.map_shared_rank(&bar, 0));
  } else if (waits) {
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
  }
}
CASE(arrival_that_is_awaited, "") {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, arrives_late, true);
}
CASE(arrival_at_a_block_that_may_have_ended, "cluster-lifetime", {"bar", "may have ended"},
     {{"arrives", 0, 1}, {"last", 0, 0}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, arrives_late, false);
}

}  // namespace

// Thread block clusters: their barrier, and each other's shared memory.
#include <cooperative_groups.h>
#include <cuda_pipeline_primitives.h>

#include <cassert>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace cg = cooperative_groups;

namespace {

/// Each block's sum goes to all blocks of the cluster, which read it: with barriers where asked.
struct Barriers {
  bool written = true, read = true;
};
__global__ void sum_of_cluster(float* y, Barriers barriers) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own;
  if (threadIdx.x == 0) own = static_cast<float>(cluster.block_rank() + 1);  // write
  if (barriers.written) cluster.sync();
  float sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) {
    sum += *cluster.map_shared_rank(&own, static_cast<int>(rank));  // read
  }
  if (barriers.read) cluster.sync();
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;  // last
}
CASE(sum_over_a_cluster, "") {
  float* y = zeros<float>();
  const auto config = config_of(8, 64, 4);
  cudaLaunchKernelEx(&config, sum_of_cluster, y, Barriers{});
  assert(at(y, 0) == 10 && at(y, 511) == 10);
}
CASE(a_cluster_of_one, "") {
  float* y = zeros<float>();
  sum_of_cluster<<<4, 64>>>(y, Barriers{});
  assert(at(y, 255) == 1);
}
CASE(neighbours_that_may_have_ended, "cluster-lifetime", {"own of another block", "may have ended"},
     {{"read", 0, 0}, {"last", 62, 1}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, sum_of_cluster, zeros<float>(), Barriers{true, false});
}
CASE(neighbours_that_may_not_have_begun, "cluster-lifetime", {"may not have begun"},
     {{"read", 0, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, sum_of_cluster, zeros<float>(), Barriers{false, true});
}
__global__ void exchange(float* y, int turns, bool second) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own[64];
  const unsigned other = cluster.block_rank() ^ 1;
  for (int turn = 0; turn < turns; ++turn) {
    own[threadIdx.x] = static_cast<float>(turn);  // write
    cluster.sync();
    y[blockIdx.x * 64 + threadIdx.x] = cluster.map_shared_rank(own, other)[threadIdx.x];  // read
    if (second) cluster.sync();
  }
  cluster.sync();
}
CASE(slots_used_again_too_early, "shared-race",
     {"own[0]", "two blocks of a cluster, with no cluster.sync() between"},
     {{"write", 0, 1}, {"read", 0, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, exchange, zeros<float>(), 2, false);
}
enum class Writer { comes_later, stays_away };
/// Another block writes where this one reads: long after, for barriers of its own do not stop it.
template <Writer writer>
__global__ void reads_what_comes(float* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float slot;
  cluster.sync();
  if (cluster.block_rank() == 1) {
    y[threadIdx.x] = slot;  // read
    __syncthreads();
    __syncthreads();
  } else if (writer == Writer::comes_later && threadIdx.x == 1) {
    *cluster.map_shared_rank(&slot, 1) = 1;  // write
  }
  cluster.sync();
}
CASE(read_before_a_neighbour_writes, "shared-race",
     {"slot", "two blocks of a cluster, with no cluster.sync() between"},
     {{.comment = "read",
       .thread = 63,
       .block = 1,
       .does = "reads 4 bytes, which nobody has written"},
      {"write", 1, 0}},
     1) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, reads_what_comes<Writer::comes_later>, zeros<float>());
}
CASE(read_where_no_neighbour_writes, "uninitialised-shared",
     {"slot, which no thread of the block has written"}, {{"read", 63, 1}}, 1) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, reads_what_comes<Writer::stays_away>, zeros<float>());
}
CASE(slots_used_again, "") {
  const auto config = config_of(4, 64, 2);
  cudaLaunchKernelEx(&config, exchange, zeros<float>(), 3, true);
}

// ---- The barrier in two halves

__global__ void in_halves(float* y, bool writes_late) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own[64];
  cluster.sync();
  if (!writes_late) own[threadIdx.x] = 1;
  auto token = cluster.barrier_arrive();
  if (writes_late) own[threadIdx.x] = 2;  // write
  y[blockIdx.x * 64 + threadIdx.x] = 1;   // of its own
  cluster.barrier_wait(static_cast<decltype(token)&&>(token));
  y[blockIdx.x * 64 + threadIdx.x] +=
      cluster.map_shared_rank(own, cluster.block_rank() ^ 1)[threadIdx.x];  // read
  cluster.sync();
}
CASE(work_between_the_halves, "") {
  const auto config = config_of(4, 64, 2);
  cudaLaunchKernelEx(&config, in_halves, zeros<float>(), false);
}
CASE(a_write_behind_the_arrival, "shared-race", {"no cluster.sync() between"},
     {{"write", 63, 1}, {"read", 63, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, in_halves, zeros<float>(), true);
}
__global__ void arrives_twice() {
  cg::this_cluster().barrier_arrive();
  cg::this_cluster().barrier_arrive();  // here
  cg::this_cluster().barrier_wait();
}
CASE(two_arrivals, "barrier-divergence", {"for the second time"}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, arrives_twice);
}
CASE(two_arrivals_in_a_cluster_of_one, "barrier-divergence", {"for the second time"}) {
  arrives_twice<<<2, 64>>>();
}
__global__ void waits_only() {
  cg::this_cluster().barrier_wait();  // here
}
CASE(no_arrival, "barrier-divergence", {"has not arrived"}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, waits_only);
}
CASE(no_arrival_in_a_cluster_of_one, "barrier-divergence", {"has not arrived"}) {
  waits_only<<<2, 64>>>();
}
__global__ void in_halves_alone(float* y) {
  __shared__ float own[64];
  for (int turn = 0; turn < 2; ++turn) {
    own[threadIdx.x] = static_cast<float>(turn);
    auto token = cg::this_cluster().barrier_arrive();
    cg::this_cluster().barrier_wait(static_cast<decltype(token)&&>(token));
    y[blockIdx.x * 64 + threadIdx.x] = own[threadIdx.x ^ 1];
    cg::this_cluster().sync();
  }
  cg::this_cluster().barrier_arrive();
}
CASE(the_halves_in_a_cluster_of_one, "") {
  float* y = zeros<float>();
  in_halves_alone<<<2, 64>>>(y);
  assert(at(y, 127) == 1);
}
__global__ void in_a_branch(float* y, unsigned block) {
  y[threadIdx.x] += 0 * (blockIdx.x == 9);
  if (blockIdx.x < block || threadIdx.x < 32) {
    cg::this_cluster().sync();  // cluster
  }
  __syncthreads();  // block
}
CASE(a_block_that_waits_elsewhere, "barrier-divergence", {"of another block elsewhere"},
     {{"cluster", 0, 0}, {"block", 32, 1}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, in_a_branch, zeros<float>(), 1u);
}
__global__ void one_leaves(float* y) {
  y[blockIdx.x * 64 + threadIdx.x] = 1;
  if (blockIdx.x % 2 == 1) return;
  cg::this_cluster().sync();
}
CASE(who_has_returned_is_not_waited_for, "") {
  const auto config = config_of(4, 64, 2);
  cudaLaunchKernelEx(&config, one_leaves, zeros<float>());
}

// ---- What of another block is used

__global__ void adds_up(float* y, bool with_atomics) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  cluster.sync();
  float* first = cluster.map_shared_rank(&total, 0);
  if (with_atomics) {
    atomicAdd(first, 1.0f);
  } else if (threadIdx.x == 0) {
    *first += 1;  // adds
  }
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) y[blockIdx.x] = total;
}
CASE(atomics_on_a_neighbours, "") {
  float* y = zeros<float>();
  const auto config = config_of(8, 64, 4);
  cudaLaunchKernelEx(&config, adds_up, y, true);
  assert(at(y, 0) == 256 && at(y, 4) == 256);
}
CASE(no_atomics_on_a_neighbours, "shared-race", {"total"}, {{"adds", 0, 1}, {"adds", 0, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, adds_up, zeros<float>(), false);
}
template <bool uses>
__global__ void exchanges(float* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float left;
  cluster.sync();
  const float found =
      atomicExch(cluster.map_shared_rank(&left, cluster.block_rank() ^ 1), 1.0f);  // here
  if (uses) y[blockIdx.x] = found;
  cluster.sync();
}
CASE(exchanged_and_used_of_a_neighbour, "uninitialised-shared",
     {"left of another block of the cluster, which no thread has written"}, {{"here", 0, 1}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, exchanges<true>, zeros<float>());
}
CASE(exchanged_of_a_neighbour, "") {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, exchanges<false>, zeros<float>());
}
__global__ void reads(float* y, unsigned index, unsigned rank, bool writes, bool dynamic) {
  extern __shared__ float moving[];
  __shared__ float fixed[32];
  float* own = dynamic ? moving : fixed;
  const cg::cluster_group cluster = cg::this_cluster();
  if (writes) own[threadIdx.x] = static_cast<float>(blockIdx.x);
  cluster.sync();
  assert(cluster.query_shared_rank(cluster.map_shared_rank(own, 1)) == 1);
  if (cluster.block_rank() == 0) {
    y[threadIdx.x] = cluster.map_shared_rank(own, rank)[index == 0 ? threadIdx.x : index];  // here
  }
  cluster.sync();
}
CASE(a_neighbours_array, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 32, 2, 128);
  cudaLaunchKernelEx(&config, reads, y, 0u, 1u, true, false);
  assert(at(y, 0) == 1);
  cudaLaunchKernelEx(&config, reads, y, 0u, 1u, true, true);
  assert(at(y, 0) == 1);
}
CASE(past_a_neighbours_dynamic_memory, "out-of-bounds-shared", {"dynamic shared memory[32]"}) {
  const auto config = config_of(2, 32, 2, 128);
  cudaLaunchKernelEx(&config, reads, zeros<float>(), 32u, 1u, true, true);
}
CASE(a_neighbour_that_wrote_nothing, "uninitialised-shared", {"of another block of the cluster"}) {
  const auto config = config_of(2, 32, 2, 128);
  cudaLaunchKernelEx(&config, reads, zeros<float>(), 0u, 1u, false, false);
}
CASE(a_rank_too_large, "out-of-bounds-shared", {"block 2 of a cluster of 2"}) {
  const auto config = config_of(2, 32, 2, 128);
  cudaLaunchKernelEx(&config, reads, zeros<float>(), 0u, 2u, true, false);
}

/// Rank 1 hands a value over by a counter: its own one, which rank 0 asks, or each has another.
__global__ void hands_over(float* y, bool one_counter) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float value;
  __shared__ int done;
  done = 0;
  cluster.sync();
  if (cluster.block_rank() == 1) {
    value = 1;  // write
    __threadfence();
    atomicAdd(&done, 1);
  } else {
    int* counter = cluster.map_shared_rank(&done, one_counter ? 1 : 0);
    while (atomicAdd(counter, one_counter ? 0 : 1) == 0 && one_counter) {
    }
    __threadfence();
    y[0] = *cluster.map_shared_rank(&value, 1);  // read
  }
  cluster.sync();
}
CASE(a_counter_of_two_blocks, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, hands_over, y, true);
  assert(at(y, 0) == 1);
}
CASE(a_counter_in_each_block, "shared-race", {"value"}, {{"write", 0, 1}, {"read", 0, 0}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, hands_over, zeros<float>(), false);
}
/// Rank 0 copies asynchronously, and rank 1 reads what has landed there.
__global__ void copies(const float* x, float* y, bool waits, int to) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float tile[32];
  cluster.sync();
  if (cluster.block_rank() == 0) {
    float* here = to == 0 ? tile : cluster.map_shared_rank(tile, to);
    __pipeline_memcpy_async(here + threadIdx.x, x + threadIdx.x, 4);  // here
    __pipeline_commit();
    if (waits) __pipeline_wait_prior(0);
  }
  cluster.sync();
  if (cluster.block_rank() == 1) {
    y[threadIdx.x] = cluster.map_shared_rank(tile, 0)[threadIdx.x];  // read
  }
  cluster.sync();
  __pipeline_wait_prior(0);
}
CASE(a_copy_that_a_neighbour_reads, "") {
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, copies, zeros<float>(), zeros<float>(), true, 0);
}
CASE(a_copy_that_a_neighbour_reads_too_early, "copy-not-awaited",
     {"tile[0]", "The thread that began it has not waited for it"},
     {{"here", 0, 0}, {"read", 0, 1}}) {
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, copies, zeros<float>(), zeros<float>(), false, 0);
}
CASE(a_copy_to_a_neighbour, "invalid-copy", {"to shared memory of another block"}) {
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, copies, zeros<float>(), zeros<float>(), true, 1);
}

#ifndef __NVCC__  // which has no other device
/// A device without clusters, for as long as it lives.
struct WithoutClusters {
  WithoutClusters() { simulator::set_generation(80); }
  ~WithoutClusters() { simulator::set_generation(90); }
};
int has_clusters() {
  int has_them = -1;
  cudaDeviceGetAttribute(&has_them, cudaDevAttrClusterLaunch, 0);
  return has_them;
}
CASE(no_clusters, "invalid-launch", {"this GPU has none"}, {{"launch", 0}}, 1) {
  const WithoutClusters without;
  assert(has_clusters() == 0);
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, sum_of_cluster, zeros<float>(), Barriers{});  // launch
}
CASE(no_clusters_asked_for, "") {
  {
    const WithoutClusters without;
    const auto config = config_of(2, 64, 1);
    cudaLaunchKernelEx(&config, sum_of_cluster, zeros<float>(), Barriers{});
  }
  assert(has_clusters() == 1);
}
#endif

}  // namespace

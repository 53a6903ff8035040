// Thread block clusters: their barrier, and each other's shared memory.
#include <cooperative_groups.h>

#include <cassert>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace cg = cooperative_groups;

namespace {

cudaLaunchConfig_t config_of(dim3 grid, dim3 block, dim3 cluster, size_t shared = 0) {
  static cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  return {grid, block, shared, nullptr, &attribute, 1};
}

template <typename T>
T at(const T* device, unsigned index) {
  T value = {};
  cudaMemcpy(&value, device + index, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

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
__global__ void waits_only() {
  cg::this_cluster().barrier_wait();  // here
}
CASE(no_arrival, "barrier-divergence", {"has not arrived"}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, waits_only);
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

// ---- Which clusters there are

__global__ void places(unsigned* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  y[block * 2] = cluster.block_rank();
  y[block * 2 + 1] =
      cluster.num_blocks() * 100 + cluster.dim_blocks().y * 10 + cluster.block_index().y;
}
CASE(ranks_in_two_dimensions, "") {
  auto* y = zeros<unsigned>();
  const auto config = config_of(dim3(4, 4), 1, dim3(2, 2));
  cudaLaunchKernelEx(&config, places, y);
  assert(at(y, 2 * 5) == 3 && at(y, 2 * 5 + 1) == 421);  // block (1, 1)
  assert(at(y, 2 * 6) == 2 && at(y, 2 * 2) == 0);        // blocks (2, 1) and (2, 0)
}
template <int blocks>
__global__ void __cluster_dims__(blocks, 1, 1) fixed_size(float* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own;
  if (threadIdx.x == 0) own = static_cast<float>(cluster.num_blocks());
  cluster.sync();
  y[blockIdx.x] = *cluster.map_shared_rank(&own, cluster.num_blocks() - 1);
  cluster.sync();
}
CASE(cluster_dims_of_the_kernel, "") {
  float* y = zeros<float>();
  fixed_size<4><<<8, 1>>>(y);
  assert(at(y, 7) == 4);
  fixed_size<2><<<8, 1>>>(y);
  assert(at(y, 7) == 2);
}
CASE(cluster_dims_of_held_work, "") {
  float* y = zeros<float>();
  simulator::hold_work(true);
  fixed_size<2><<<8, 1>>>(y);
  cudaDeviceSynchronize();
  simulator::hold_work(false);
  assert(at(y, 0) == 2 && at(y, 7) == 2);
}
/// Far more clusters than there is room for, each of which waits in vain.
__global__ void first_waits_alone(float* y) {
  if (blockIdx.x % 2 == 0 && threadIdx.x == 0) {
    cg::this_cluster().sync();  // here
  }
  __syncthreads();
  if (blockIdx.x % 2 == 1) cg::this_cluster().sync();
  y[0] += 0;
}
CASE(many_clusters_that_wait_in_vain, "barrier-divergence", {"of their block elsewhere"}) {
  const auto config = config_of(40000, 32, 2);
  cudaLaunchKernelEx(&config, first_waits_alone, zeros<float>());
}
CASE(half_a_cluster, "invalid-launch", {"grid is 6 x 1 x 1", "multiple"}) {
  const auto config = config_of(6, 32, 4);
  cudaLaunchKernelEx(&config, sum_of_cluster, zeros<float>(), Barriers{});  // here
  cudaGetLastError();
}
CASE(a_cluster_too_large, "invalid-launch", {"clusters are 16 x 1 x 1"}) {
  const auto config = config_of(16, 32, 16);
  const cudaError_t error = cudaLaunchKernelEx(&config, places, zeros<unsigned>());  // here
  assert(error == cudaErrorInvalidClusterSize);
  cudaGetLastError();
}
CASE(a_large_cluster_that_is_allowed, "") {
  float* y = zeros<float>();
  cudaFuncSetAttribute(sum_of_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const auto config = config_of(32, 32, 16);
  cudaLaunchKernelEx(&config, sum_of_cluster, y, Barriers{});
  assert(at(y, 0) == 136);
  int clusters = 0;
  cudaOccupancyMaxActiveClusters(&clusters, sum_of_cluster, &config);
  assert(clusters > 0);
}

__global__ void in_both(float* y) {
  __shared__ float own;
  own = static_cast<float>(blockIdx.x);
  cg::this_grid().sync();
  y[blockIdx.x] = *cg::this_cluster().map_shared_rank(&own, 0);
  cg::this_cluster().sync();
}
CASE(clusters_of_a_cooperative_launch, "") {
  float* y = zeros<float>();
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 2;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  const cudaLaunchConfig_t config = {8, 1, 0, nullptr, attributes, 2};
  cudaLaunchKernelEx(&config, in_both, y);
  assert(at(y, 7) == 6);
}

}  // namespace

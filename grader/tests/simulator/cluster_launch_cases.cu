// Launches with thread block clusters: which blocks are one, and how large they may be.
#include <cooperative_groups.h>

#include <cassert>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace cg = cooperative_groups;

namespace {

__global__ void places(unsigned* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  y[block * 2] = cluster.block_rank();
  y[block * 2 + 1] =
      cluster.num_blocks() * 100 + cluster.dim_blocks().y * 10 + cluster.block_index().y;
  const auto grid = cg::this_grid();
  assert(grid.num_clusters() * cluster.num_blocks() == grid.num_blocks());
  assert(grid.cluster_rank() ==
         grid.cluster_index().x + grid.dim_clusters().x * grid.cluster_index().y);
}
CASE(ranks_in_two_dimensions, "") {
  auto* y = zeros<unsigned>();
  const auto config = config_of(dim3(4, 4), 1, dim3(2, 2));
  cudaLaunchKernelEx(&config, places, y);
  assert(at(y, 2 * 5) == 3 && at(y, 2 * 5 + 1) == 421);  // block (1, 1)
  assert(at(y, 2 * 6) == 2 && at(y, 2 * 2) == 0);        // blocks (2, 1) and (2, 0)
}
/// What the last block of the cluster knows of its size.
__device__ void ask_the_last(float* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own;
  if (threadIdx.x == 0) own = static_cast<float>(cluster.num_blocks());
  cluster.sync();
  y[blockIdx.x] = *cluster.map_shared_rank(&own, cluster.num_blocks() - 1);
  cluster.sync();
}
__global__ void size_of_the_launch(float* y) {
  ask_the_last(y);
}
template <int blocks>
__global__ void __cluster_dims__(blocks, 1, 1) fixed_size(float* y) {
  ask_the_last(y);
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
/// Rank 0 waits for the last cluster, which cannot begin while all that are there wait.
__global__ void first_waits_for_the_last(int* flag) {
  if (cg::this_cluster().block_rank() == 0 && blockIdx.x + 16 < gridDim.x) {
    while (atomicAdd(flag, 0) == 0) {  // here
    }
  }
  if (blockIdx.x + 16 >= gridDim.x) atomicExch(flag, 1);
  cg::this_cluster().sync();
}
CASE(more_clusters_than_the_device_holds, "deadlock") {
  cudaFuncSetAttribute(first_waits_for_the_last, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const auto config = config_of(16 * 4300, 1, 16);
  cudaLaunchKernelEx(&config, first_waits_for_the_last, zeros<int>());
}
CASE(as_many_clusters_as_the_device_holds, "") {
  cudaFuncSetAttribute(first_waits_for_the_last, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const auto config = config_of(16 * 20, 1, 16);
  cudaLaunchKernelEx(&config, first_waits_for_the_last, zeros<int>());
}
CASE(half_a_cluster, "invalid-launch", {"grid is 6 x 1 x 1", "multiple"}) {
  const auto config = config_of(6, 32, 4);
  cudaLaunchKernelEx(&config, size_of_the_launch, zeros<float>());  // here
  cudaGetLastError();
}
CASE(a_cluster_too_large, "invalid-launch", {"clusters are 16 x 1 x 1"}) {
  const auto config = config_of(16, 32, 16);
  const cudaError_t error = cudaLaunchKernelEx(&config, places, zeros<unsigned>());  // here
  assert(error == cudaErrorInvalidClusterSize);
  cudaGetLastError();
  int clusters = 0;
  assert(cudaOccupancyMaxActiveClusters(&clusters, places, &config) == error);
  const auto portable = config_of(16, 32, 8);
  assert(cudaOccupancyMaxPotentialClusterSize(&clusters, places, &portable) == cudaSuccess);
  assert(clusters == 8);
  cudaGetLastError();
}
CASE(a_large_cluster_that_is_allowed, "") {
  float* y = zeros<float>();
  cudaFuncSetAttribute(size_of_the_launch, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const auto config = config_of(32, 1, 16);
  cudaLaunchKernelEx(&config, size_of_the_launch, y);
  assert(at(y, 31) == 16);
  int clusters = 0;
  cudaOccupancyMaxActiveClusters(&clusters, size_of_the_launch, &config);
  assert(clusters > 0);
  cudaOccupancyMaxPotentialClusterSize(&clusters, size_of_the_launch, &config);
  assert(clusters == 16);
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

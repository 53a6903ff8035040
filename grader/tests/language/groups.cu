// cooperative_groups within a block, a cluster and the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void groups(float* x, int* i) {
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  cg::grid_group grid = cg::this_grid();
  i[2] = static_cast<int>(grid.thread_rank() + grid.size() + grid.is_valid());
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  float sum = cg::reduce(warp, x[block.thread_rank()], cg::plus<float>());
  sum += tile.shfl_down(sum, 2) + warp.shfl_xor(sum, 1) + warp.shfl(sum, 0);
  i[0] = cg::reduce(tile, i[1], cg::greater<int>());
  i[1] += warp.any(1) + warp.all(0) + static_cast<int>(warp.ballot(1));
  if (warp.thread_rank() == 0) x[warp.meta_group_rank()] = sum + warp.size() + tile.num_threads();
  if (threadIdx.x % 2 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(i, static_cast<int>(active.size()));
    sum = active.shfl(sum, 0);
  }
  warp.sync();
  cg::sync(block);
  block.sync();
  x[block.size()] = sum + block.group_index().x + block.thread_index().x;
}

template <int blocks>
__global__ void __cluster_dims__(blocks, 1, 1) in_clusters(float* y) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own[2];
  own[threadIdx.x] = static_cast<float>(cluster.thread_rank() + cluster.num_threads());
  auto token = cluster.barrier_arrive();
  const dim3 size = cluster.dim_blocks();
  cluster.barrier_wait(static_cast<decltype(token)&&>(token));
  const float* first = cluster.map_shared_rank(own, 0);
  y[0] = first[1] + cluster.query_shared_rank(first) + cluster.block_rank() + cluster.num_blocks();
  const auto grid = cg::this_grid();
  y[2] = static_cast<float>(grid.num_clusters() + grid.cluster_rank() + grid.dim_clusters().x +
                            grid.cluster_index().x);
  y[1] = static_cast<float>(size.x + cluster.block_index().x + cluster.dim_threads().x);
  cluster.sync();
  cg::sync(cluster);
}
__cluster_dims__(2) __global__ void in_pairs() {}
__global__ void together() { cg::this_grid().sync(); }

void launches(float* y) {
  in_clusters<2><<<4, 2>>>(y);
  in_pairs<<<2, 1>>>();
  cudaLaunchCooperativeKernel(together, 1, 32, nullptr);
  cudaLaunchAttribute attributes[3] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 2;
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  attributes[2].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
  attributes[2].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
  cudaLaunchConfig_t config = {4, 32, 0, nullptr, attributes, 3};
  cudaLaunchKernelEx(&config, together);
  int clusters = 0;
  cudaOccupancyMaxActiveClusters(&clusters, together, &config);
  cudaOccupancyMaxPotentialClusterSize(&clusters, together, &config);
  cudaFuncSetAttribute(together, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

int main() { groups<<<1, 64>>>(nullptr, nullptr); }

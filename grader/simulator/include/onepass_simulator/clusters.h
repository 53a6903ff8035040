// The block's place in its cluster, and the cluster's barrier in two halves: for
// cooperative_groups::this_cluster(), and for PTX.
#pragma once

#include "barriers.h"

namespace simulator {

inline unsigned cluster_blocks() {
  const uint3 size = cluster_size();
  return size.x * size.y * size.z;
}
/// Of the block within its cluster.
inline uint3 place_in_cluster() {
  const uint3 size = cluster_size();
  return {blockIdx.x % size.x, blockIdx.y % size.y, blockIdx.z % size.z};
}
inline unsigned rank_in_cluster() {
  const uint3 size = cluster_size();
  const uint3 place = place_in_cluster();
  return place.x + size.x * (place.y + size.y * place.z);
}
/// Of the cluster within the grid, and how many there are.
inline uint3 place_of_cluster() {
  const uint3 size = cluster_size();
  return {blockIdx.x / size.x, blockIdx.y / size.y, blockIdx.z / size.z};
}
inline uint3 number_of_clusters() {
  const uint3 size = cluster_size();
  return {gridDim.x / size.x, gridDim.y / size.y, gridDim.z / size.z};
}

__forceinline__ void arrive_at_cluster() {
  cluster_barrier(ClusterBarrier::arrive, nullptr);
}
/// wait, or sync. A cluster of one block waits at the block's barrier.
__forceinline__ void wait_at_cluster(ClusterBarrier part) {
  if (cluster_blocks() == 1) {
    if (part == ClusterBarrier::wait) cluster_barrier(part, nullptr);
    __syncthreads();
    return;
  }
barrier:  // see ONEPASS_BARRIER
  cluster_barrier(part, &&barrier);
}

}  // namespace simulator

// Thread block clusters: blocks that are on the device together, wait for each other, and read and
// write each other's shared memory.
//
// A launch with clusters divides its grid: of 8 blocks in clusters of 4, blocks 0 to 3 are one and
// 4 to 7 the other. A cluster has 8 blocks at most, or 16 where the kernel is allowed more than is
// portable. Its blocks begin together, and three things are theirs:
//
//   - cluster.sync(), in two halves if there is work in between: barrier_arrive() says that the
//     thread has come, barrier_wait() waits until all threads of the cluster have. A thread that
//     has returned is not waited for.
//   - cluster.map_shared_rank(pointer, rank): where that variable is in the shared memory of
//     another block (memory/shared_windows.h).
//   - And a duty: shared memory is there from the block's begin to its end. Whoever uses another
//     block's needs a cluster.sync() before, so that it has begun, and one behind, so that it has
//     not ended (races/cluster_lifetime.h).
//
// Here the blocks of a cluster get their seats together, and run one after another as ever. One
// with a thread that waits for the cluster, and none that can go on, sleeps until the barrier is
// met.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduling/running.h"

namespace simulator {

struct Cluster {
  std::uint64_t number = 0;
  std::vector<Block*> blocks;  // by rank
  std::uint64_t live = 0;      // threads that have not returned
  std::uint64_t arrived = 0;   // of those, at the barrier that is met next
  std::uint32_t met = 0;       // barriers
  unsigned ended = 0;          // blocks
};

/// What is wrong with clusters of this shape, in a sentence; empty if nothing is. The kernel may be
/// allowed more blocks than is portable, and the device may have no clusters.
std::string cluster_complaint(const uint3& grid, const uint3& cluster, bool may_be_large,
                              bool has_clusters);

/// How many clusters a grid has along each side, if nothing is wrong with them.
inline uint3 clusters_of(const uint3& grid, const uint3& cluster) {
  return {grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z};
}

/// The number in the grid of a cluster's block.
std::uint64_t block_of_cluster(const LaunchBegin& launch, std::uint64_t cluster, unsigned rank);

/// How many blocks the running block's cluster has: 1 where there are no clusters.
std::size_t blocks_of_cluster(const Launch& launch);

/// Stops the kernel, which asks for a block that its cluster does not have.
void check_rank(Launch& launch, unsigned rank, CodeAddress site);

/// Of an address in the running block's shared memory the same place in that of block `rank`.
std::uintptr_t in_block_of_cluster(const Launch& launch, std::uintptr_t address, unsigned rank);

/// The block of the running one's cluster that has this address in its shared memory; nullptr if
/// none has.
Block* owner_of_shared(const Launch& launch, std::uintptr_t address);

/// Does a thread of the block wait for what another one of its cluster can do: at the cluster's
/// barrier, or at one in shared memory?
bool waits_for_cluster(const Block& block);

/// Called when a thread of a cluster has returned: the others may have waited for it alone.
void cluster_thread_returned(Launch& launch, const Thread& thread);

}  // namespace simulator

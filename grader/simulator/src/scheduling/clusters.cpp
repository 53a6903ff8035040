#include "scheduling/clusters.h"

#include <algorithm>

#include "device_limits.h"
#include "findings/texts.h"
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {
namespace {

void try_complete(Launch& launch, Cluster& cluster) {
  if (cluster.live == 0 || cluster.arrived < cluster.live) return;
  // What the checkers copy here is not the kernel's.
  const Findings::Writing writing(launch.machine.findings);
  ++cluster.met;
  cluster.arrived = 0;
  launch.checkers.tell(ClusterMet{});
  for (Block* block : cluster.blocks) {
    for (Thread& thread : block->threads) {
      if (thread.state == ThreadState::at_cluster_barrier) thread.state = ThreadState::ready;
    }
  }
}

/// Called by a kernel's thread. Where a cluster is one block, arrivals are counted and no more.
void arrive(Launch& launch, Thread& thread, CodeAddress site, CodeAddress barrier, bool stays) {
  if (thread.cluster_arrivals > thread.cluster_waits) {
    const Findings::Writing writing(launch.machine.findings);
    stop_with(launch, Kind::barrier_divergence, site,
              "A thread arrives at the cluster's barrier for the second time, and has not waited "
              "for the first: barrier_wait() belongs between two barrier_arrive().",
              "arrives again", kErrorLaunchFailure);
  }
  ++thread.cluster_arrivals;
  Cluster* const cluster = launch.block->cluster;
  if (cluster == nullptr) return;
  launch.checkers.tell(ClusterArrive{thread.number, stays});
  if (stays) launch.checkers.tell(BarrierWait{thread.number, site, barrier, BarrierScope::cluster});
  ++cluster->arrived;
  try_complete(launch, *cluster);
}

void wait(Launch& launch, Thread& thread, CodeAddress site) {
  if (thread.cluster_arrivals == thread.cluster_waits) {
    const Findings::Writing writing(launch.machine.findings);
    stop_with(launch, Kind::barrier_divergence, site,
              "A thread waits at the cluster's barrier and has not arrived there: "
              "barrier_arrive() comes before barrier_wait().",
              "calls barrier_wait()", kErrorLaunchFailure);
  }
  const Cluster* const cluster = launch.block->cluster;
  if (cluster != nullptr && cluster->met < thread.cluster_arrivals) {
    thread.state = ThreadState::at_cluster_barrier;
    warp_lane_stopped(launch, thread);
    wait_for_others(launch);
  }
  thread.cluster_waits = thread.cluster_arrivals;
  if (cluster == nullptr) return;
  begin_path(launch);
  launch.checkers.tell(ClusterWaited{thread.number});
}

Launch* in_kernel(CodeAddress site) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return nullptr;
  obey_stop(*launch, site);
  launch->thread->last_site = launch->thread->wait_site = site;
  return launch;
}

}  // namespace

std::string cluster_complaint(const uint3& grid, const uint3& cluster, bool may_be_large,
                              bool has_clusters) {
  const std::uint64_t blocks = volume(cluster);
  if (blocks > 1 && !has_clusters) {
    return "The launch asks for clusters, and this GPU has none: cudaDevAttrClusterLaunch tells "
           "which GPU has them.";
  }
  if (blocks == 0 || blocks > (may_be_large ? limits::kLargestCluster : limits::kPortableCluster)) {
    return "The clusters are " + shape_text(cluster) +
           " blocks: a cluster has from 1 to 8 blocks, or up to 16 after "
           "cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) "
           "(cudaErrorInvalidClusterSize).";
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return "The grid is " + shape_text(grid) + " blocks and its clusters " + shape_text(cluster) +
           ": each side of the grid must be a multiple of the cluster's "
           "(cudaErrorInvalidClusterSize).";
  }
  return "";
}

std::uint64_t block_of_cluster(const LaunchBegin& launch, std::uint64_t cluster, unsigned rank) {
  const uint3 place = unflatten(cluster, clusters_of(launch.grid, launch.cluster));
  const uint3 within = unflatten(rank, launch.cluster);
  const std::uint64_t x = place.x * launch.cluster.x + within.x;
  const std::uint64_t y = place.y * launch.cluster.y + within.y;
  const std::uint64_t z = place.z * launch.cluster.z + within.z;
  return x + launch.grid.x * (y + launch.grid.y * z);
}

Block* owner_of_shared(const Launch& launch, std::uintptr_t address) {
  const SharedMemory& shared = launch.machine.memory.shared;
  if (shared.in_static(address) || shared.in_dynamic(address)) return launch.block;
  if (!shared.windows().contain(address) || launch.block->cluster == nullptr) return nullptr;
  for (Block* block : launch.block->cluster->blocks) {
    if (block->seat == shared.windows().seat_of(address)) return block;
  }
  return nullptr;
}

bool waits_for_cluster(const Block& block) {
  return std::any_of(block.threads.begin(), block.threads.end(), [](const Thread& thread) {
    return thread.state == ThreadState::at_cluster_barrier ||
           thread.state == ThreadState::at_split_barrier;
  });
}

void cluster_thread_returned(Launch& launch, const Thread& thread) {
  Cluster* const cluster = launch.block->cluster;
  if (cluster == nullptr) return;
  --cluster->live;
  cluster->arrived -= thread.cluster_arrivals > cluster->met;
  try_complete(launch, *cluster);
}

uint3 cluster_size() {
  const Launch* launch = launch_of_kernel();
  return launch == nullptr ? uint3{1, 1, 1} : launch->begin.cluster;
}

void cluster_barrier(ClusterBarrier part, const void* barrier) {
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  Launch* launch = in_kernel(site);
  if (launch == nullptr) return;
  Thread& thread = *launch->thread;
  thread.spin = {};
  if (part != ClusterBarrier::wait) {
    arrive(*launch, thread, site, reinterpret_cast<CodeAddress>(barrier),
           part == ClusterBarrier::sync);
  }
  if (part != ClusterBarrier::arrive) {
    if (part == ClusterBarrier::wait && launch->block->cluster != nullptr) {
      launch->checkers.tell(BarrierWait{thread.number, site, reinterpret_cast<CodeAddress>(barrier),
                                        BarrierScope::cluster});
    }
    wait(*launch, thread, site);
  }
}

std::size_t blocks_of_cluster(const Launch& launch) {
  return launch.block->cluster == nullptr ? 1 : launch.block->cluster->blocks.size();
}

void check_rank(Launch& launch, unsigned rank, CodeAddress site) {
  if (rank < blocks_of_cluster(launch)) return;
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, Kind::out_of_bounds_shared, site,
            "Shared memory is asked for of block " + std::to_string(rank) + " of a cluster of " +
                std::to_string(blocks_of_cluster(launch)) + ": ranks are counted from 0.",
            "asks for it", kErrorIllegalAddress);
}

std::uintptr_t in_block_of_cluster(const Launch& launch, std::uintptr_t address, unsigned rank) {
  if (rank == launch.block->cluster_rank) return address;
  const unsigned seat = launch.block->cluster->blocks[rank]->seat;
  return launch.machine.memory.shared.in_window(address, seat);
}

void* map_shared(void* address, unsigned rank) {
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  Launch* launch = in_kernel(site);
  if (launch == nullptr) return address;
  check_rank(*launch, rank, site);
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (owner_of_shared(*launch, number) == nullptr) {
    const Findings::Writing writing(launch->machine.findings);
    stop_with(*launch, Kind::out_of_bounds_shared, site,
              "map_shared_rank() is given an address that is not in shared memory.",
              "calls map_shared_rank()", kErrorIllegalAddress);
  }
  const std::uintptr_t home = launch->machine.memory.shared.home(number);
  return reinterpret_cast<void*>(in_block_of_cluster(*launch, home, rank));
}

unsigned rank_of_shared(const void* address) {
  const Launch* launch = in_kernel(reinterpret_cast<CodeAddress>(__builtin_return_address(0)));
  const Block* found = launch == nullptr
                           ? nullptr
                           : owner_of_shared(*launch, reinterpret_cast<std::uintptr_t>(address));
  return found == nullptr ? 0 : found->cluster_rank;
}

void keep_to_cluster_dims(unsigned x, unsigned y, unsigned z) {
  Launch& launch = *launch_of_kernel();
  const uint3& size = launch.begin.cluster;
  if (size.x == x && size.y == y && size.z == z) return;
  launch.cluster_wanted = {x, y, z};
  launch.failed = true;
  for (;;) wait_for_others(launch);
}

}  // namespace simulator

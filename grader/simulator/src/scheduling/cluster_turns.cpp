// The turns of blocks in clusters (clusters.h): they begin together, sleep at their barrier, and
// give their seats back together.
#include <algorithm>
#include <memory>
#include <utility>

#include "scheduling/scheduler.h"
#include "scheduling/split_waits.h"

namespace simulator {

/// Blocks that have begun and hold their place. A cluster holds all of its own until the last ends.
std::size_t Scheduler::under_way() const {
  if (!launch_.begin.has_clusters()) return waiting_.size();
  return (clusters_.size() - free_clusters_.size()) * volume(launch_.begin.cluster);
}

/// All blocks of a cluster begin together, and wait for their turns.
void Scheduler::begin_cluster(std::uint64_t number) {
  if (free_clusters_.empty()) free_clusters_.push_back(&clusters_.emplace_back());
  Cluster& cluster = *free_clusters_.back();
  free_clusters_.pop_back();
  cluster = {};
  cluster.number = number;
  const auto blocks = static_cast<unsigned>(volume(launch_.begin.cluster));
  for (unsigned rank = 0; rank < blocks; ++rank) {
    Block& block = free_seat();
    block.cluster = &cluster;
    block.cluster_rank = rank;
    cluster.blocks.push_back(&block);
  }
  cluster.live = blocks * volume(launch_.begin.block);
  for (unsigned rank = 0; rank < blocks; ++rank) {
    Block& block = *cluster.blocks[rank];
    begin(block, block_of_cluster(launch_.begin, number, rank));
    set_aside(block);
    waiting_.push_back(&block);
  }
}

/// The sleepers of this cluster that have a thread which can go on.
void Scheduler::wake(const Cluster& cluster) {
  for (Block* block : cluster.blocks) {
    if (!block->is_asleep) continue;
    const bool can_go_on =
        std::any_of(block->threads.begin(), block->threads.end(),
                    [](const Thread& thread) { return thread.state == ThreadState::ready; });
    if (!can_go_on) continue;
    block->is_asleep = false;
    asleep_.erase(std::find(asleep_.begin(), asleep_.end(), block));
    waiting_.push_back(block);
  }
}

/// The block goes on: which of its threads do, that others of its cluster have woken?
void Scheduler::tell_woken(Block& block) {
  for (Thread& thread : block.threads) {
    if (!std::exchange(thread.is_woken, false)) continue;
    launch_.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
  }
}

/// No block can go on, or all wait for a word to change: then asynchronous stores land, as late as
/// they may, at the barriers where threads wait for nothing else. First where that completes the
/// phase. False if there are none.
bool Scheduler::land_stores() {
  bool any = false;
  for (const bool completing : {true, false}) {
    for (const std::unique_ptr<Block>& block : seats_) {
      for (auto& [address, barrier] : block->split_barriers) {
        if (!waits_for_stores(barrier) || (completing && !has_all_bytes(barrier))) continue;
        if (!wake_waiting_at(*block, address)) continue;
        barrier.all_wait = any = true;
      }
    }
    if (any) break;
  }
  for (const Cluster& cluster : clusters_) {
    if (any) wake(cluster);
  }
  return any;
}

/// The seats of a cluster are free when all of it has ended.
void Scheduler::end_in_cluster(Block& block) {
  Cluster& cluster = *block.cluster;
  set_aside(block);
  if (++cluster.ended < cluster.blocks.size()) return;
  free_.insert(free_.end(), cluster.blocks.rbegin(), cluster.blocks.rend());
  free_clusters_.push_back(&cluster);
}

/// Blocks sleep that nobody can wake.
void Scheduler::tell_cluster_missed() {
  const auto waits_at_split = [](const Thread& thread) {
    return thread.state == ThreadState::at_split_barrier;
  };
  // A barrier in shared memory that is not met holds up the cluster's: that one is told.
  for (Block* stuck : asleep_.front()->cluster->blocks) {
    if (std::none_of(stuck->threads.begin(), stuck->threads.end(), waits_at_split)) continue;
    go_on(*stuck);
    launch_.block = stuck;
    launch_.checkers.tell(BlockStuck{});
    launch_.fail(kErrorLaunchTimeout);
    return;
  }
  Block& block = *asleep_.front();
  go_on(block);
  launch_.block = &block;
  const auto waits = [](const Thread& thread) {
    return thread.state == ThreadState::at_cluster_barrier;
  };
  const auto waiting = std::find_if(block.threads.begin(), block.threads.end(), waits);
  for (const Block* other : block.cluster->blocks) {
    for (const Thread& thread : other->threads) {
      if (thread.state == ThreadState::returned || waits(thread)) continue;
      launch_.checkers.tell(
          ClusterMissed{waiting->number, other->number, thread.number, thread.wait_site});
      launch_.fail(kErrorLaunchTimeout);
      return;
    }
  }
}

}  // namespace simulator

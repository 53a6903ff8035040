// Runs the blocks of a launch, and the threads of each block in turn.
//
// A block's threads run round robin, each until it waits for others or returns; so between two
// barriers each thread goes alone and in order, and a run is the same every time.
//
// Blocks run one after another, in the order that is asked for (block_choice.h). A thread that
// reads or tries the same word again and again (a lock, a flag) gives way after a while, and when
// all threads of a block do, the block is set aside and another one runs: whoever holds the lock
// gets its turn. If as many blocks as the device holds at one time all wait, none can ever go on:
// that is reported as a deadlock. One that waits at the grid's barrier is set aside until all have
// come there (grid_barrier.h).
//
// In the shuffled order (block_order.h) a block is also set aside when it has done an atomic
// operation: so some blocks are under way together, and who comes first to a counter does not get
// all of the work.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "scheduling/clusters.h"
#include "scheduling/grid_barrier.h"
#include "scheduling/running.h"
#include "scheduling/stack_sets.h"

namespace simulator {

/// Of a launch's blocks: all that are left, or those up to the half.
enum class Share { all, half };

class Scheduler {
 public:
  explicit Scheduler(Launch& launch)
      : launch_(launch), stacks_(launch.machine.stacks, volume(launch.begin.block)) {}

  /// Runs blocks of the launch from the one whose turn is `first` on, or up to the failure that
  /// ends it. Returns whose turn is next. Blocks that wait for later ones have these run too.
  std::uint64_t run(std::uint64_t first, Share share);

 private:
  /// stalled: after some work, all threads wait for another block; idle: they did nothing else;
  /// aside: they can go on, but others have their turn.
  /// asleep: until another block of the cluster does something; at_grid: at the grid's barrier.
  enum class Outcome { finished, stalled, idle, aside, asleep, at_grid, failed };

  Block& free_seat();
  void begin(Block& block, std::uint64_t number);
  void end(Block& block);
  void set_aside(Block& block);
  void go_on(Block& block);
  Outcome run_block(Block& block);
  void give_up(const Block& block, std::uint64_t unstarted, std::size_t at_grid);
  std::size_t most_seats() const;

  // Of clusters: cluster_turns.cpp.
  std::size_t under_way() const;
  void begin_cluster(std::uint64_t number);
  void wake(const Cluster& cluster);
  void tell_woken(Block& block);
  bool land_stores();
  void end_in_cluster(Block& block);
  void tell_cluster_missed();

  Launch& launch_;
  StackSets stacks_;
  std::vector<std::unique_ptr<Block>> seats_;
  std::deque<Block*> waiting_;  // blocks set aside
  std::vector<Block*> free_;
  std::vector<Block*> asleep_;  // of clusters
  std::deque<Cluster> clusters_;
  std::vector<Cluster*> free_clusters_;
};

}  // namespace simulator

// The barrier of the whole grid, cooperative_groups::this_grid().sync(): one launch instead of two,
// where every thread needs what other blocks have written.
//
// A block that waits keeps its place on a multiprocessor. So a barrier for all blocks works only if
// all are there at one time, which a cooperative launch is for: it is refused if the grid has more
// blocks than the device holds. On a GPU, thread 0 of each block waits for the others of its block,
// adds one to a counter in global memory, and waits until all blocks have done so. Therefore
//
//   - a block that returns without having come leaves the others waiting for ever; so does one
//     whose thread 0 has returned, for nobody else speaks for it;
//   - all that any thread did before the barrier happens before all that any thread does after it.
//
// Here blocks run one after another. One whose threads all wait is set aside until every block has
// come that far; then each goes on where it stopped. The race checker forgets what came before, as
// it does between two launches (races/ordering.h): nothing after the barrier can race with it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduling/running.h"

namespace simulator {

class GridBarrier {
 public:
  /// blocks: that run in this launch.
  explicit GridBarrier(std::uint64_t blocks) : blocks_(blocks) {}

  /// Do all threads of the block that have not returned wait at it?
  static bool is_at(const Block& block) {
    return block.live > 0 && block.at_grid_barrier == block.live;
  }

  /// All threads of the running block that have not returned wait. False if the barrier can never
  /// be met, which is told then.
  bool arrive(Launch& launch, Block& block);

  /// If all blocks have come: those that go on. Else none.
  std::vector<Block*> release(Launch& launch);

  /// A block has ended.
  void note_end(const Block& block);

  std::size_t waiting() const { return waiting_.size(); }
  /// One that waits, for a message; there is one.
  Block& first() const { return *waiting_.front(); }
  /// No other block can come any more: tells so. first() runs.
  void tell_missed(Launch& launch) const;

 private:
  struct Ended {
    std::uint64_t block;
    unsigned thread;
    CodeAddress last_site;
  };

  const std::uint64_t blocks_;
  std::vector<Block*> waiting_;
  std::uint64_t ended_ = 0;
  std::optional<Ended> first_ended_;  // without having come
};

}  // namespace simulator

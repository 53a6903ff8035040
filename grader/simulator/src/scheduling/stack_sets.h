// Which stacks the threads of a block run on.
//
// The device holds 270,336 threads at one time, and there are stacks for a few of them. So blocks
// share them: those of one that waits for others are copied aside, as far as they are used, when
// another block needs them, and come back to the same addresses before the block goes on.
#pragma once

#include <cstddef>
#include <vector>

#include "scheduling/fiber.h"
#include "scheduling/threads.h"

namespace simulator {

class StackSets {
 public:
  StackSets(StackPool& pool, std::size_t threads_of_block)
      : pool_(pool),
        threads_(threads_of_block),
        owners_(StackPool::kMaxStacks / threads_of_block, nullptr) {}

  Stack stack(const Block& block, std::size_t thread) const {
    return pool_.get(set_of(block) * threads_ + thread);
  }

  /// To be called before the block's threads run, or their fibers are prepared.
  void give_to(Block& block);

 private:
  std::size_t set_of(const Block& block) const { return block.seat % owners_.size(); }

  StackPool& pool_;
  const std::size_t threads_;
  std::vector<Block*> owners_;  // whose stacks lie on each set
};

}  // namespace simulator

// Runs the blocks of a launch, and the threads of each block in turn.
//
// A block's threads run round robin, each until it waits for others or returns; so between two
// barriers each thread goes alone and in order, and a run is the same every time.
//
// Blocks run one after another. A thread that reads or tries the same word again and again (a lock,
// a flag) gives way after a while, and when all threads of a block do, the block is set aside and
// another one runs: whoever holds the lock gets its turn. If as many blocks as fit at one time all
// wait, none can ever go on: that is reported as a deadlock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "scheduling/execution.h"
#include "scheduling/fiber.h"

namespace simulator {

class Scheduler {
 public:
  /// Runs all blocks of the launch, or up to the failure that ends it.
  void run(Launch& launch);

  const StackPool& stacks() const { return stacks_; }

 private:
  /// stalled: after some work, all threads wait for another block; idle: they did nothing else.
  enum class Outcome { finished, stalled, idle, failed };

  struct Seat {  // a block and the number of its first stack
    Block block;
    std::size_t first_stack = 0;
  };

  Seat& free_seat(std::size_t threads);
  void begin(Seat& seat, Launch& launch, std::uint64_t number);
  Outcome run_block(Block& block);
  void resume(Thread& thread, Block& block);

  StackPool stacks_;
  std::vector<std::unique_ptr<Seat>> seats_;  // kept for the next launches
  std::deque<Seat*> waiting_;                 // blocks set aside
  std::vector<Seat*> free_;
};

Scheduler& scheduler();

}  // namespace simulator

// Which blocks of a launch run, and in which order. CUDA promises no order: what a kernel gives
// must not depend on it, which shows when the same launch runs in another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "onepass_simulator/device_calls.h"
#include "simulator.h"

namespace simulator {

/// The blocks of a grid, or the threads of a block.
inline std::uint64_t volume(const uint3& shape) {
  return std::uint64_t{shape.x} * shape.y * shape.z;
}

struct BlockChoice {
  BlockOrder order = BlockOrder::rising;
  std::uint64_t seed = 0;
  std::uint64_t most = 0;  // of a sample; 0: all
  bool none = false;
};

/// The numbers of the blocks that run, in their order.
class ChosenBlocks {
 public:
  /// is_cooperative: the blocks wait for each other, so that all of them run.
  ChosenBlocks(const BlockChoice& choice, const uint3& grid, const uint3& block,
               bool is_cooperative)
      : order_(choice.order),
        side_(long_side(grid.x, grid.y, grid.z)),
        blocks_(volume(grid)),
        count_(blocks_) {
    if (choice.most != 0 && !is_cooperative)
      count_ = blocks_of_sample(choice.most, side_, volume(block));
    if (order_ == BlockOrder::shuffled) shuffle(choice.seed);
  }

  std::uint64_t count() const { return count_; }
  bool is_sample() const { return count_ < blocks_; }

  std::uint64_t number(std::uint64_t turn) const {
    switch (order_) {
      case BlockOrder::falling:
        turn = count_ - 1 - turn;
        break;
      case BlockOrder::shuffled:
        turn = multiplied(turn, step_, start_) % count_;
        break;
      case BlockOrder::rising:
        break;
    }
    return is_sample() ? spread(turn) : turn;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static Wide multiplied(std::uint64_t a, std::uint64_t b, std::uint64_t added) {
    return Wide{a} * b + added;
  }

  /// A sample is spread evenly along the long side, from the first block to the last. If it has one
  /// place there, that is where the order begins.
  std::uint64_t spread(std::uint64_t turn) const {
    const std::uint64_t places = count_ / side_.across;
    const std::uint64_t step =
        places == 1 && order_ == BlockOrder::falling ? 1 : turn / side_.across;
    const std::uint64_t last = std::max<std::uint64_t>(1, places - 1);
    const std::uint64_t place = multiplied(step, side_.length - 1, 0) / last;
    const std::uint64_t across = turn % side_.across;
    return across % side_.below + side_.below * (place + side_.length * (across / side_.below));
  }

  /// In steps that have no factor in common with the count, every turn comes once.
  void shuffle(std::uint64_t seed) {
    const std::uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15;
    start_ = mixed % count_;
    step_ = (mixed >> 32) % count_;
    while (std::gcd(step_, count_) != 1) ++step_;
  }

  BlockOrder order_;
  LongSide side_;
  std::uint64_t blocks_, count_;
  std::uint64_t start_ = 0, step_ = 1;
};

}  // namespace simulator

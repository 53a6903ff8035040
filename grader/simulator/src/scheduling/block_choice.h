// Which blocks of a launch run, and in which order. CUDA promises no order: what a kernel gives
// must not depend on it, which shows when the same launch runs in another one.
#pragma once

#include <cstdint>
#include <numeric>

#include "simulator.h"

namespace simulator {

struct BlockChoice {
  BlockOrder order = BlockOrder::rising;
  std::uint64_t seed = 0;
  std::uint64_t most = 0;  // 0: all
};

/// The numbers of the blocks that run, in their order.
class ChosenBlocks {
 public:
  ChosenBlocks(const BlockChoice& choice, std::uint64_t blocks)
      : order_(choice.order), blocks_(blocks), count_(blocks) {
    if (choice.most != 0 && choice.most < blocks) count_ = choice.most;
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
    // A sample is spread evenly, from the first block to the last.
    return is_sample() && count_ > 1 ? multiplied(turn, blocks_ - 1, 0) / (count_ - 1) : turn;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static Wide multiplied(std::uint64_t a, std::uint64_t b, std::uint64_t added) {
    return Wide{a} * b + added;
  }

  /// In steps that have no factor in common with the count, every turn comes once.
  void shuffle(std::uint64_t seed) {
    const std::uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15;
    start_ = mixed % count_;
    step_ = (mixed >> 32) % count_;
    while (std::gcd(step_, count_) != 1) ++step_;
  }

  BlockOrder order_;
  std::uint64_t blocks_, count_;
  std::uint64_t start_ = 0, step_ = 1;
};

}  // namespace simulator

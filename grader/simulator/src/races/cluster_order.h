// What the barrier of a cluster orders.
//
// A thread that waits there comes after all that any thread of the cluster had done when it
// arrived. barrier_arrive() and barrier_wait() may lie apart, and what a thread does between the
// two is not ordered for others: so each thread's arrival is remembered by itself, as the interval
// in which it was made (ordering.h). A thread that returns has arrived for good.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace simulator {

class ClusterOrder {
 public:
  /// Before the first of its blocks begins.
  void begin(unsigned blocks, unsigned threads) {
    numbers_.assign(blocks, kNone);
    arrived_.assign(std::size_t{blocks} * threads, 0);
    met_[0] = met_[1] = arrived_;
    threads_ = threads;
    barriers_ = 0;
  }
  void add(unsigned rank, std::uint64_t block) { numbers_[rank] = block; }

  void arrive(unsigned rank, unsigned thread, std::uint32_t interval) {
    arrived_[rank * threads_ + thread] = interval;
  }
  void meet() { met_[++barriers_ % 2] = arrived_; }

  /// Barriers met so far. A thread that has waited knows of so many.
  std::uint32_t barriers() const { return barriers_; }

  bool has(std::uint64_t block) const {
    return std::find(numbers_.begin(), numbers_.end(), block) != numbers_.end();
  }

  /// Did the thread of that block make an access of this interval before it arrived at the barrier
  /// with this number, counted from 1?
  bool is_before(std::uint64_t block, unsigned thread, std::uint32_t interval,
                 std::uint32_t barrier) const {
    const auto found = std::find(numbers_.begin(), numbers_.end(), block);
    if (found == numbers_.end() || barrier == 0) return false;
    const auto rank = static_cast<std::size_t>(found - numbers_.begin());
    return interval <= met_[barrier % 2][rank * threads_ + thread];
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::vector<std::uint64_t> numbers_;  // of its blocks, by rank
  std::vector<std::uint32_t> arrived_;  // by rank and thread: the interval of the last arrival
  std::vector<std::uint32_t> met_[2];   // the same at the last two barriers
  std::size_t threads_ = 0;
  std::uint32_t barriers_ = 0;
};

}  // namespace simulator

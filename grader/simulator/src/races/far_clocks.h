// What the threads of a block know of other blocks by barriers in shared memory (split_clocks.h has
// what they know of their own).
//
// A thread of another block of the cluster may arrive at a barrier of this one, and may store into
// this one's memory asynchronously (st.async), which counts there when it has landed. Who has
// waited for a phase of the barrier knows
//
//   - what those who have arrived in it had done and knew, for they arrive with release;
//   - that the stores have landed which counted in it. Of what else their threads had done it knows
//     nothing: such a store is a weak one, which nothing before it is sure to precede.
//
// Most threads know the same, so they share it, and it is copied only where somebody knows more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "races/knowledge.h"

namespace simulator {

struct FarSight {
  Knowledge blocks;
  std::map<std::uint32_t, std::uint64_t> landed;  // by a barrier's number: phases complete

  void join(const FarSight& other) {
    simulator::join(blocks, other.blocks);
    for (const auto& [barrier, phases] : other.landed) {
      landed[barrier] = std::max(landed[barrier], phases);
    }
  }
};
using SharedSight = std::shared_ptr<const FarSight>;  // null: of nothing

inline SharedSight joined(const SharedSight& one, const SharedSight& other) {
  if (other == nullptr || one == other) return one;
  if (one == nullptr) return other;
  FarSight all = *one;
  all.join(*other);
  return std::make_shared<const FarSight>(std::move(all));
}

class FarClocks {
 public:
  void begin(std::size_t threads) {
    if (is_used_) *this = FarClocks();
    count_ = threads;
  }
  bool are_used() const { return is_used_; }

  /// A thread of another block arrives at a barrier, and leaves what it knows.
  void leave(std::uintptr_t barrier, FarSight sight) {
    use();
    SharedSight& arrived = barriers_[barrier].arrived;
    arrived = joined(arrived, std::make_shared<const FarSight>(std::move(sight)));
  }
  void arrive(unsigned thread, std::uintptr_t barrier) {
    if (!is_used_) return;
    SharedSight& arrived = barriers_[barrier].arrived;
    arrived = joined(arrived, of(thread));
  }
  /// So many phases of it are complete. number: the barrier's, of which a store tells.
  void complete(std::uintptr_t barrier, bool has_stores, std::uint32_t number,
                std::uint64_t phases) {
    if (has_stores) leave(barrier, {{}, {{number, phases}}});
    if (is_used_) barriers_[barrier].known = barriers_[barrier].arrived;
  }
  void pass(unsigned thread, std::uintptr_t barrier) {
    if (is_used_) learn(thread, barriers_[barrier].known);
  }
  void learn(unsigned thread, const SharedSight& sight) {
    if (sight == nullptr) return;
    use();
    threads_[thread] = joined(threads_[thread], sight);
  }
  void learn_all(const SharedSight& sight) {
    if (sight == nullptr) return;
    use();
    all_ = joined(all_, sight);
  }

  /// These lanes, from thread `first` on, wait for each other.
  void meet(unsigned first, unsigned lanes) {
    if (!is_used_) return;
    SharedSight all;
    for (unsigned left = lanes; left != 0; left &= left - 1) {
      all = joined(all, threads_[first + static_cast<unsigned>(__builtin_ctz(left))]);
    }
    for (unsigned left = lanes; left != 0; left &= left - 1) {
      threads_[first + static_cast<unsigned>(__builtin_ctz(left))] = all;
    }
  }
  /// All threads of the block do.
  void meet_all() {
    if (!is_used_) return;
    all_ = of_any();
    threads_.assign(count_, nullptr);
  }

  SharedSight of(unsigned thread) const {
    return is_used_ ? joined(all_, threads_[thread]) : nullptr;
  }
  /// What some thread of the block knows.
  SharedSight of_any() const {
    SharedSight all = all_;
    const SharedSight* last = nullptr;
    for (const SharedSight& sight : threads_) {
      if (last == nullptr || sight != *last) all = joined(all, sight);
      last = &sight;
    }
    return all;
  }

  /// Does the thread know what a thread of that block did in this interval?
  bool know(unsigned thread, std::uint64_t block, std::uint32_t by, std::uint32_t interval) const {
    return any(thread, [&](const FarSight& sight) {
      const auto found = sight.blocks.find(block);
      return found != sight.blocks.end() && found->second.covers(interval, by);
    });
  }
  /// That the stores of this phase of the barrier have landed?
  bool know_landed(unsigned thread, std::uint32_t barrier, std::uint64_t phase) const {
    return any(thread, [&](const FarSight& sight) {
      const auto found = sight.landed.find(barrier);
      return found != sight.landed.end() && phase < found->second;
    });
  }

 private:
  struct Barrier {
    SharedSight arrived;  // what has been left there
    SharedSight known;    // what had been when the last phase was complete
  };

  void use() {
    if (!is_used_) threads_.assign(count_, nullptr);
    is_used_ = true;
  }
  template <typename Is>
  bool any(unsigned thread, Is is) const {
    if (!is_used_) return false;
    return (all_ != nullptr && is(*all_)) || (threads_[thread] != nullptr && is(*threads_[thread]));
  }

  bool is_used_ = false;
  std::size_t count_ = 0;  // threads
  SharedSight all_;        // of all threads, since the last barrier of the block
  std::vector<SharedSight> threads_;
  std::unordered_map<std::uintptr_t, Barrier> barriers_;
};

}  // namespace simulator

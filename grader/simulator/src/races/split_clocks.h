// What the threads of a block know of one another by barriers in shared memory (cuda::barrier),
// between two barriers of the whole block.
//
// Whoever arrives leaves at the barrier what it has done and what it knows; whoever has waited for
// the phase knows what all had left there when it was complete. So who does not wait is behind
// nobody, even if the phase is long over. (A vector clock for each thread and each barrier, of the
// steps that ordering.h counts.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simulator {

class SplitClocks {
 public:
  /// By thread: everything before this step of it.
  using View = std::vector<std::uint8_t>;

  void begin(std::size_t threads) {
    threads_ = threads;
    forget();
  }
  /// All wait for all: from here on there is nothing known, and no need to.
  void forget() {
    views_.clear();
    barriers_.clear();
  }
  bool are_used() const { return !views_.empty(); }

  /// step: the first one after the arrival. of_warp: what the lane knows of its warp.
  void arrive(unsigned thread, std::uint32_t step, std::uintptr_t barrier,
              const std::uint8_t (&of_warp)[32]) {
    if (views_.empty()) views_.assign(threads_, View(threads_));
    View& left = barriers_[barrier].arrived;
    left.resize(threads_);
    join(left, views_[thread]);
    const std::size_t first = thread / 32 * 32;
    for (std::size_t lane = 0; first + lane < threads_ && lane < 32; ++lane) {
      left[first + lane] = std::max(left[first + lane], of_warp[lane]);
    }
    left[thread] = static_cast<std::uint8_t>(step);
  }
  void complete(std::uintptr_t barrier) {
    Barrier& completed = barriers_[barrier];
    completed.known = completed.arrived;
  }
  void pass(unsigned thread, std::uintptr_t barrier) {
    const View& known = barriers_[barrier].known;
    if (!known.empty() && !views_.empty()) join(views_[thread], known);
  }

  /// Does the thread know all that had been left there when the last phase was complete?
  bool knows_phase(unsigned thread, std::uintptr_t barrier,
                   const std::uint8_t (&of_warp)[32]) const {
    const auto found = barriers_.find(barrier);
    if (found == barriers_.end()) return true;
    const View& left = found->second.known;
    for (unsigned other = 0; other < left.size(); ++other) {
      std::uint8_t known = views_.empty() ? 0 : views_[thread][other];
      if (other / 32 == thread / 32) known = std::max(known, of_warp[other % 32]);
      if (other != thread && known < left[other]) return false;
    }
    return true;
  }

  /// These lanes, from thread `first` on, wait for each other at a __syncwarp(); steps(thread) is
  /// the first one after it.
  template <typename Steps>
  void meet(unsigned first, unsigned lanes, Steps steps) {
    if (views_.empty()) return;
    View all(threads_);
    for (unsigned left = lanes; left != 0; left &= left - 1) {
      const unsigned thread = first + static_cast<unsigned>(__builtin_ctz(left));
      join(all, views_[thread]);
      all[thread] = static_cast<std::uint8_t>(steps(thread));
    }
    for (unsigned left = lanes; left != 0; left &= left - 1) {
      views_[first + static_cast<unsigned>(__builtin_ctz(left))] = all;
    }
  }

  /// The first and the last thread of which this one knows anything; if of none, none is first.
  std::pair<unsigned, unsigned> known_to(unsigned thread) const {
    std::pair<unsigned, unsigned> known = {1, 0};
    if (views_.empty()) return known;
    for (unsigned other = 0; other < threads_; ++other) {
      if (views_[thread][other] == 0) continue;
      known = {known.first > known.second ? other : known.first, other};
    }
    return known;
  }

  /// Does the thread know what the other one did in this step?
  bool knows(unsigned thread, unsigned other, std::uint32_t step) const {
    return !views_.empty() && step < views_[thread][other];
  }

 private:
  struct Barrier {
    View arrived;  // what has been left there
    View known;    // what had been when the last phase was complete
  };

  static void join(View& into, const View& from) {
    std::transform(into.begin(), into.end(), from.begin(), into.begin(),
                   [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); });
  }

  std::size_t threads_ = 0;
  std::vector<View> views_;  // by thread; empty until one arrives somewhere
  std::unordered_map<std::uintptr_t, Barrier> barriers_;
};

}  // namespace simulator

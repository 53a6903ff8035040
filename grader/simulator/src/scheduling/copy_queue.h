// The asynchronous copies that the threads of a block have under way (copies/copies.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <utility>

#include "events/events.h"

namespace simulator {

/// Those of one thread, in the order in which they began.
class CopyQueue {
 public:
  /// The copy stays where it is until it lands.
  const AsyncCopy& begin(const AsyncCopy& copy) {
    if (landed_.empty()) landed_.emplace_back();
    under_way_.splice(under_way_.end(), landed_, landed_.begin());
    AsyncCopy& begun = under_way_.back();
    begun = copy;
    begun.batch = batches_;
    return begun;
  }

  /// Closes a batch of those that have begun since the last one; it may be empty.
  void commit() {
    for (auto copy = under_way_.rbegin(); copy != under_way_.rend() && !copy->is_committed;
         ++copy) {
      copy->is_committed = true;
    }
    ++batches_;
  }

  /// Calls land(copy) for those of all batches but the last `prior`.
  template <typename Land>
  void wait(std::uint64_t prior, CodeAddress site, Land land) {
    while (!under_way_.empty() && under_way_.front().batch < end_of(prior)) {
      land(under_way_.front());
      landed_.splice(landed_.begin(), under_way_, under_way_.begin());
    }
    for (AsyncCopy& copy : under_way_) leave(copy, prior, site);
  }

  /// Calls read(copy) for those of them whose source has not been read.
  template <typename Read>
  void wait_until_read(std::uint64_t prior, CodeAddress site, Read read) {
    for (AsyncCopy& copy : under_way_) {
      if (copy.batch >= end_of(prior)) {
        leave(copy, prior, site);
      } else if (!copy.is_read) {
        read(copy);
      }
    }
  }

  /// Hands on all that are under way: they belong to this phase of a barrier from now on.
  std::list<AsyncCopy> give_to_barrier(std::uint64_t phase) {
    for (AsyncCopy& copy : under_way_) {
      copy.is_at_barrier = true;
      copy.batch = phase;
    }
    return std::exchange(under_way_, {});
  }

  const std::list<AsyncCopy>& under_way() const { return under_way_; }

 private:
  /// The number behind that of the last batch which a wait covers.
  std::uint64_t end_of(std::uint64_t prior) const { return batches_ - std::min(batches_, prior); }

  static void leave(AsyncCopy& copy, std::uint64_t prior, CodeAddress site) {
    copy.left_by = site;
    copy.was_committed = copy.is_committed;
    copy.left = prior;
  }

  std::list<AsyncCopy> under_way_;
  std::list<AsyncCopy> landed_;  // kept for later ones: to allocate millions would show
  std::uint64_t batches_ = 0;
};

}  // namespace simulator

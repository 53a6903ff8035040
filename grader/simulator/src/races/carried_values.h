// Which lanes of a warp have got a value from which, since the last barrier.
//
// A shuffle orders no memory. But what a lane has got from another one that had read before, that
// one has read: a write behind it comes later, whatever the GPU. It is asked for where a race is
// found, so the shuffles are but noted, and gone through then.
#pragma once

#include <cstddef>
#include <vector>

#include "events/events.h"

namespace simulator {

class CarriedValues {
 public:
  void note(const ValuesCarried& event) { steps_.push_back(event); }
  void note(const SyncwarpMet& event) { steps_.push_back({event.warp, event.lanes, false, {}}); }
  void clear() { steps_.clear(); }
  std::size_t steps() const { return steps_.size(); }

  /// Has anything that lane `from` had before its step number `step` (from 0) come to lane `to`?
  bool have_come(unsigned from, unsigned step, unsigned to) const;

 private:
  std::vector<ValuesCarried> steps_;
};

}  // namespace simulator

// What a checker knows of each block that is under way, by the block's seat (events.h).
#pragma once

#include <deque>

#include "events/events.h"

namespace simulator {

template <typename State>
class PerBlock {
 public:
  /// The state that the seat's last block has left: it keeps its memory.
  State& begin(const BlockBegin& event) {
    while (states_.size() <= event.seat) states_.emplace_back();
    running_ = &states_[event.seat];
    return *running_;
  }
  void resume(const BlockResume& event) { running_ = &states_[event.seat]; }

  State& at(unsigned seat) { return states_[seat]; }
  const State& at(unsigned seat) const { return states_[seat]; }
  State& running() { return *running_; }
  const State& running() const { return *running_; }

 private:
  std::deque<State> states_;  // which do not move when others come
  State* running_ = nullptr;
};

}  // namespace simulator

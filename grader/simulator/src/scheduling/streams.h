// Work that host code puts on streams. It is done at once, unless it is held: then it waits, as on
// a GPU, until the host waits for the device, and the work of several streams runs side by side.
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace simulator {

/// Does a part of the work. Is some left?
using Work = std::function<bool()>;

class Streams {
 public:
  void hold(bool wanted) { holds_ = wanted; }
  bool hold_work() const { return holds_; }

  void put(const void* stream, Work work);
  /// Does what is held, each stream's in its order, and of several streams a part of each in turn.
  void finish();

 private:
  bool holds_ = false;
  std::vector<std::pair<const void*, std::deque<Work>>> queues_;
};

}  // namespace simulator

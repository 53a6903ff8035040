// What lies between two accesses that race and looks like order, but is none: a shuffle, a
// __syncwarp() that leaves out a lane, a fence, an atomic without one.
//
// Of a thread's calls only its last warp operation since the barrier is known. It is taken to lie
// between the two if its line does; where that is not certain nothing is said.
#pragma once

#include <string>
#include <vector>

#include "common/per_block.h"
#include "events/events.h"
#include "races/ordering.h"

namespace simulator {

/// One of two threads of the running block, and where its access is.
struct Racer {
  unsigned thread;
  CodeAddress site;
};

/// The last warp operations of the threads.
class LastCalls {
 public:
  explicit LastCalls(const Ordering& ordering) : ordering_(ordering) {}

  void on(const BlockBegin& event) { calls_.begin(event).resize(event.threads); }
  void on(const BlockResume& event) { calls_.resume(event); }
  void on(const WarpCall& event) {
    calls_.running()[event.thread] = {event.operation, event.mask, event.site,
                                      ordering_.phase_begin()};
  }

  /// Of two racers, in the order in which they are meant to happen. A sentence, or "".
  std::string what_lies_between(const Racer& first, const Racer& second) const;

 private:
  struct Call {
    WarpOperation operation = WarpOperation::sync;
    unsigned mask = 0;
    CodeAddress site = 0;
    std::uint32_t phase = 0;  // the first interval of the phase in which it came (ordering.h)
  };

  /// The thread's last call since the last barrier, or nullptr.
  const Call* last_call(unsigned thread) const;
  static std::string about(const Call& call, const Racer& first, const Racer& second);

  const Ordering& ordering_;
  PerBlock<std::vector<Call>> calls_;  // by thread
};

}  // namespace simulator

// How a kernel is stopped that would not stop by itself, or that hits memory which is not there.
//
// Endless loops: a timer counts the process's CPU time. When the limit of the launch is reached its
// signal asks the running thread to stop, and the next load, store or call into the simulator
// obeys. A loop that does none of these is taken off its path by the signal's handler a moment
// later.
//
// Segmentation faults: code that the compiler does not instrument (memcpy, a stack that overflows)
// can still touch missing memory. The handler takes the thread off its path in the same way.
//
// "Off its path": the handler changes the saved program counter and stack pointer, so that after
// the signal the thread runs a function of ours on a stack of ours, which makes the finding and
// abandons the launch. Nothing of the kernel's stack is unwound.
#pragma once

#include <string>

#include "scheduling/running.h"

namespace simulator {

/// While this lives, the launch that runs is under the machine's time limit and the handlers.
class Watchdog {
 public:
  explicit Watchdog(double time_limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

/// Of what a signal has interrupted, from its handler's third argument.
CodeAddress program_counter(const void* context);

[[noreturn]] void stop_as_endless(Launch& launch, CodeAddress site);

/// Every call out of a kernel passes here: ends the launch if its time is over.
inline void obey_stop(Launch& launch, CodeAddress site) {
  if (__builtin_expect(launch.stop_requested, 0)) stop_as_endless(launch, site);
}

/// Adds the finding that the running thread does this, and ends the launch. To be called while a
/// finding is being written (Findings::Writing).
[[noreturn]] void stop_with(Launch& launch, Kind kind, CodeAddress site, std::string message,
                            std::string action, ErrorCode error);

}  // namespace simulator

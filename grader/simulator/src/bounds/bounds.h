// Accesses that must not happen: outside of what there is, or not aligned. A GPU does not recover
// from them, so each ends the launch: the answer is the error by which the runtime tells so.
#pragma once

#include <string>

#include "common/error_codes.h"
#include "common/per_block.h"
#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"

namespace simulator {

class BoundsChecker {
 public:
  BoundsChecker(const LaunchBegin& launch, const Memory& memory, Findings& findings)
      : launch_(launch), memory_(memory), findings_(findings) {}

  void on(const BlockBegin& event) { blocks_.begin(event) = event.number; }
  void on(const BlockResume& event) { blocks_.resume(event); }

  /// kSuccess if the access may happen.
  [[gnu::always_inline]] ErrorCode on(const AccessEvent& event) {
    const Access& access = event.access;
    if (__builtin_expect((access.address & (access.alignment - 1)) != 0, 0)) {
      return report_misaligned(event);
    }
    if (__builtin_expect(event.place.area > Area::own, 0)) return report_outside(event);
    return kSuccess;
  }

  /// An index outside an array whose size the compiler knows (index_bounds.cpp).
  ErrorCode on(const IndexEvent& event);

 private:
  Finding finding(Kind kind, const AccessEvent& event, std::string message) const;
  ErrorCode report_misaligned(AccessEvent event);
  ErrorCode report_outside(AccessEvent event);
  Finding outside_device(const AccessEvent& event) const;
  Finding outside_shared(const AccessEvent& event) const;
  Finding elsewhere(const AccessEvent& event) const;

  const LaunchBegin launch_;
  const Memory& memory_;
  Findings& findings_;
  PerBlock<std::uint64_t> blocks_;  // their numbers
};

/// Host code, outside of any launch, uses device memory. A size of 0: it is not known how much.
void report_device_memory_on_host(const Access& access, const DeviceMemory& memory,
                                  Findings& findings);

}  // namespace simulator

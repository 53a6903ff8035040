// A checker alone: no kernel, no thread, no scheduler. A test makes the memory that it needs, tells
// the checker a few events, and looks at the findings.
#pragma once

#include <string>
#include <vector>

#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"

/// A place in this program: the line that calls it.
[[gnu::noinline]] inline simulator::CodeAddress here() {
  asm volatile("");  // else two calls are taken for one
  return reinterpret_cast<simulator::CodeAddress>(__builtin_return_address(0));
}

/// 1024 floats x in device memory, 1024 bytes of dynamic shared memory, and a launch of two blocks
/// of 64 threads.
struct Scene {
  simulator::Memory memory;
  simulator::Findings findings;
  simulator::LaunchBegin launch = {"kernel", {2, 1, 1}, {64, 1, 1}};
  simulator::Allocation* x = memory.device.allocate(4096, 0, {"x", 4});

  Scene() { memory.shared.prepare(1024); }

  /// The kinds of what was found since the last call.
  std::vector<std::string> found() {
    std::vector<std::string> kinds;
    for (const simulator::Finding& finding : findings.take()) {
      kinds.push_back(simulator::kind_name(finding.kind));
    }
    return kinds;
  }
};

using Kinds = std::vector<std::string>;

/// Block `number` begins on the seat of the same number.
template <typename Checker>
void begin_block(Checker& checker, unsigned number) {
  checker.on(simulator::BlockBegin{number, number, 64});
}

/// Calls tell(event) for an access of 4 bytes to x[index].
template <typename Tell>
auto access_x(const Scene& scene, unsigned thread, simulator::AccessType type, unsigned index,
              simulator::CodeAddress site, Tell tell, bool is_atomic = false) {
  using namespace simulator;
  const Access access = {scene.x->begin + 4 * index, 4, 4, type, site, is_atomic};
  return tell(
      AccessEvent{thread, access, {Area::inside, MemorySpace::global, scene.x->number, 4 * index}});
}

/// The same for float number `index` of shared memory.
template <typename Tell>
auto access_shared(const Scene& scene, unsigned thread, simulator::AccessType type, unsigned index,
                   simulator::CodeAddress site, Tell tell) {
  using namespace simulator;
  const Access access = {scene.memory.shared.dynamic_begin() + 4 * index, 4, 4, type, site};
  return tell(
      AccessEvent{thread, access, {Area::inside, MemorySpace::shared, kDynamicShared, 4 * index}});
}

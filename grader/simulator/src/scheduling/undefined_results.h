// What a collective gives to threads that get no result: cub::BlockReduce's sum is thread 0's.
//
// On a GPU the others get what was left in a register, a part of the sum. Here they get bits that
// no computation makes: a NaN, if they are taken for a float, that says in its lower half which
// call it comes from. Arithmetic with a NaN keeps its bits, so a value computed from it says so
// too. When the launch is over, device memory is looked through for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "events/events.h"
#include "findings/findings.h"
#include "memory/device_memory.h"

namespace simulator {

class UndefinedResults {
 public:
  /// A call that gave a thread none.
  struct Call {
    CodeAddress site;
    const char* collective;
    std::uint64_t block;
    unsigned thread;
  };

  /// What that thread gets instead.
  std::uint32_t bits(const Call& call);

  /// Tells of each call of which device memory holds the bits.
  void report(const LaunchBegin& launch, const DeviceMemory& memory, Findings& findings) const;

 private:
  void report_in(const Allocation& memory, const LaunchBegin& launch, Findings& findings) const;

  std::vector<Call> calls_;  // one for each site
};

/// The bits again and again; of fewer than four bytes, the upper half.
void fill_undefined(void* value, std::size_t bytes, std::uint32_t bits);

}  // namespace simulator

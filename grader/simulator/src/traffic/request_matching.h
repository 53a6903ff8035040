// Which accesses of a warp's lanes are one request?
//
// On a GPU the lanes of a warp run in step: one instruction, 32 addresses. Here each lane runs for
// itself, so what belongs together is found afterwards: since the lanes of a warp last met, the
// first access of each lane at one place in the code belongs to one request, the second of each to
// the next, and so on. Lanes that skip a branch or leave a loop early are simply missing.
//
// The lanes have met when each of them waits at a barrier or in a warp operation, or has returned.
// Then the requests are closed and counted. A lane may not run ahead of its warp by more than
// kWindow accesses: it is made to wait, so that the list stays short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "access/access.h"
#include "simulator.h"
#include "traffic/memory_request.h"

namespace simulator {

class TrafficCounter;

/// The requests of one warp since its lanes last met.
class WarpRequests {
 public:
  /// Forgets everything: the warp of this number begins.
  void begin(int warp);

  void add(int lane, const Access& access, MemorySpace space, TrafficCounter& counter);

  /// True if the lane must let the others of its warp catch up, before its next plain access.
  bool is_ahead(int lane) const { return made_[lane] >= kWindow; }

  /// The lane waits or has returned; `live` are those that have not returned. Counts the requests
  /// if the warp has met.
  void stop(int lane, unsigned live, TrafficCounter& counter);

  /// These lanes go on, though the warp has not met.
  void go_on(unsigned lanes) { stopped_ &= ~lanes; }

 private:
  static constexpr std::uint32_t kWindow = 256;
  static constexpr std::uint32_t kMostAhead = 4096;  // of a lane that spins on an atomic

  struct Place {  // in the code
    CodeAddress site = 0;
    MemorySpace space = MemorySpace::global;
    AccessType type = AccessType::read;
    std::vector<MemoryRequest> requests;  // the first `count` are in use
    std::size_t count = 0;
    std::uint32_t next[kWarpLanes] = {};  // the request of each lane's next access
  };

  Place& place_of(const Access& access, MemorySpace space);
  void close(TrafficCounter& counter);

  std::vector<Place>
      places_;  // the first `places_in_use_` are in use; the others keep their memory
  std::size_t places_in_use_ = 0;
  std::size_t last_place_ = 0;
  std::uint32_t order_ = 0;
  std::uint32_t made_[kWarpLanes] = {};  // accesses of each lane since the warp last met
  unsigned stopped_ = 0;                 // lanes that wait or have returned
  int warp_ = 0;                         // its number in the block
};

}  // namespace simulator

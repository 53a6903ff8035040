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

#include "events/events.h"
#include "traffic/memory_request.h"

namespace simulator {

class TrafficCounter;

/// The requests of one warp since its lanes last met.
class WarpRequests {
 public:
  /// Forgets everything: a warp begins, of this number in its block.
  void begin(std::uint64_t block, int warp, unsigned lanes);

  [[gnu::always_inline]] MemoryRequest& add(unsigned lane, const Access& access, MemorySpace space,
                                            TrafficCounter& counter) {
    if (__builtin_expect(++made_[lane] >= kWindow, 0)) run_ahead(lane, counter);
    Place& place = place_of(access, space);
    const std::uint32_t number = place.next[lane]++;
    if (__builtin_expect(number >= place.count, 0)) open_request(place, access.size);
    MemoryRequest& request = place.requests[number];
    request.lanes |= 1u << lane;
    request.address[lane] = access.address;
    return request;
  }

  /// True if the lane must let the others of its warp catch up, before its next plain access.
  bool is_ahead(unsigned lane) const { return made_[lane] >= kWindow; }

  /// The lane waits. Counts the requests if the warp has met.
  void stop(unsigned lane, TrafficCounter& counter);
  /// The lane has returned: the warp meets without it.
  void leave(unsigned lane, TrafficCounter& counter);

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

  [[gnu::always_inline]] Place& place_of(const Access& access, MemorySpace space) {
    // In a loop the places come round and round: the next one is tried first.
    for (std::size_t tried = 0; tried < places_in_use_; ++tried) {
      if (++last_place_ >= places_in_use_) last_place_ = 0;
      Place& place = places_[last_place_];
      if (place.site == access.site && place.space == space) return place;
    }
    return open_place(access, space);
  }
  void run_ahead(unsigned lane, TrafficCounter& counter);
  Place& open_place(const Access& access, MemorySpace space);
  void open_request(Place& place, unsigned bytes);
  void close(TrafficCounter& counter);

  std::vector<Place>
      places_;  // the first `places_in_use_` are in use; the others keep their memory
  std::size_t places_in_use_ = 0;
  std::size_t last_place_ = 0;
  std::uint32_t order_ = 0;
  std::uint32_t made_[kWarpLanes] = {};  // accesses of each lane since the warp last met
  unsigned live_ = 0;                    // lanes that have not returned
  unsigned stopped_ = 0;                 // lanes that wait
  std::uint64_t block_ = 0;
  int warp_ = 0;
};

}  // namespace simulator

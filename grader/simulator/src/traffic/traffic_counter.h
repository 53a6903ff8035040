// Adds up what the requests of one launch cost, by place in the code and buffer, and at the end by
// line of source. On demand it keeps the first requests themselves, for a map of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "events/events.h"
#include "memory/memory.h"
#include "simulator.h"
#include "traffic/memory_request.h"
#include "traffic/sector_set.h"

namespace simulator {

/// Who made some requests, and where in the code.
struct RequestOrigin {
  CodeAddress site;
  MemorySpace space;
  AccessType type;
  std::uint64_t block;
  int warp;
  bool is_bulk = false;
};

class TrafficCounter {
 public:
  /// Keeps the first `most_traced` requests.
  TrafficCounter(const Memory& memory, std::size_t most_traced)
      : memory_(memory), most_traced_(most_traced) {}

  /// Bytes of global memory, as one lane asks for them.
  void count_bytes(AccessType type, unsigned bytes) {
    if (type != AccessType::write) read_bytes_ += bytes;
    if (type != AccessType::read) written_bytes_ += bytes;
  }

  /// A request whose lanes are in several buffers counts as one of each: what was asked of a buffer
  /// is told for it alone.
  void count(const RequestOrigin& origin, const MemoryRequest* requests, std::size_t number);

  /// A lane has run ahead of its warp at some time: before that, none has to be asked.
  void note_lane_ahead() { lane_was_ahead_ = true; }
  bool lane_was_ahead() const { return lane_was_ahead_; }

  /// All but kernel, grid and block, which the caller knows.
  void finish(LaunchTraffic& traffic, std::vector<TracedRequest>& trace);

 private:
  /// What one instruction did to one buffer.
  struct Site {
    CodeAddress site = 0;
    const void* buffer = nullptr;  // an Allocation, a SharedVariable, or nullptr: dynamic shared
    SectorSet touched;             // global memory
    std::uintptr_t first_sector = 0;
    unsigned costliest = 0;  // units of its costliest request
    LineTraffic sum;         // file and line are looked up at the end
  };

  const void* buffer_at(MemorySpace space, std::uintptr_t address) const;
  std::uintptr_t begin_of(MemorySpace space, const void* buffer) const;
  std::uintptr_t home(MemorySpace space, std::uintptr_t address) const;
  Site& site_of(const RequestOrigin& origin, std::uintptr_t address);
  unsigned lanes_of_first_buffer(const MemoryRequest& request) const;
  /// Of several buffers.
  void count_by_buffer(const RequestOrigin& origin, MemoryRequest rest, Site*& site);
  /// site: that of the request before, then that of this one.
  void count_in_buffer(const RequestOrigin& origin, const MemoryRequest& request, Site*& site);
  static void add(Site& site, const MemoryRequest& request, const RequestCost& cost);
  void keep(const RequestOrigin& origin, const Site& site, const MemoryRequest& request,
            const RequestCost& cost);
  void count_distinct(LaunchTraffic& traffic) const;

  const Memory& memory_;
  std::uint64_t read_bytes_ = 0, written_bytes_ = 0;
  bool lane_was_ahead_ = false;
  std::vector<Site> sites_;
  std::size_t most_traced_;
  std::vector<TracedRequest> traced_;
};

}  // namespace simulator

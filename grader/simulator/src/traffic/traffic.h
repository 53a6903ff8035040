// Adds up what the requests of one launch cost, by place in the code and buffer, and at the end by
// line of source. On demand it keeps the first requests themselves, for a map of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "access/access.h"
#include "simulator.h"
#include "traffic/memory_request.h"
#include "traffic/sector_set.h"

namespace simulator {

class TrafficCounter {
 public:
  TrafficCounter() = default;
  /// Keeps the first `most_traced` requests.
  TrafficCounter(bool count_requests, std::size_t most_traced)
      : counts_requests_(count_requests), most_traced_(most_traced) {}

  /// False if only bytes are wanted.
  bool counts_requests() const { return counts_requests_; }

  /// Bytes of global memory, as one lane asks for them.
  void count_bytes(AccessType type, unsigned bytes) {
    if (type != AccessType::write) read_bytes_ += bytes;
    if (type != AccessType::read) written_bytes_ += bytes;
  }

  /// Requests of one warp of the running block, all made at one place.
  void count(CodeAddress site, MemorySpace space, AccessType type, int warp,
             const MemoryRequest* requests, std::size_t number);

  /// All but kernel, grid and block, which the caller knows.
  void finish(LaunchTraffic& traffic, std::vector<TracedRequest>& trace);

 private:
  /// What one instruction did to one buffer.
  struct Site {
    CodeAddress site = 0;
    const void* buffer = nullptr;  // an Allocation, a SharedVariable, or nullptr: dynamic shared
    SectorSet touched;             // global
    std::uintptr_t first_sector = 0;
    unsigned costliest = 0;  // units of its costliest request
    LineTraffic sum;         // file and line are looked up at the end
  };

  Site& site_of(CodeAddress site, MemorySpace space, AccessType type, std::uintptr_t address);
  static void add(Site& site, const MemoryRequest& request, const RequestCost& cost);
  void keep(const Site& site, int warp, const MemoryRequest& request, const RequestCost& cost);
  void count_distinct(LaunchTraffic& traffic) const;

  std::uint64_t read_bytes_ = 0, written_bytes_ = 0;
  std::vector<Site> sites_;
  bool counts_requests_ = false;
  std::size_t most_traced_ = 0;
  std::vector<TracedRequest> traced_;
};

}  // namespace simulator

// A barrier in shared memory (cuda::barrier, mbarrier), whose threads arrive and wait in two calls.
#pragma once

#include <cstdint>
#include <list>
#include <map>

#include "events/events.h"

namespace simulator {

struct SplitBarrier {
  std::uint32_t expected = 0;   // arrivals in each phase
  std::uint32_t missing = 0;    // to the end of the present one
  std::uint64_t phase = 0;      // that has begun and is not complete
  std::list<AsyncCopy> copies;  // that it answers for, and that have not landed
  std::int64_t told = 0;        // bytes that it is to expect in this phase
  std::int64_t bytes = 0;       // the same, less those that have landed
  std::list<AsyncCopy> bulk;    // pieces of bulk copies, and stores, on their way to it
  bool is_invalid = false;      // until it is initialised anew
  std::uint32_t number = 0;     // among all of the launch
  bool has_stores = false;      // asynchronous ones, in this phase
  bool all_wait = false;        // no block of the cluster can do more before they land
  std::map<unsigned, std::uint32_t> lanes = {};  // of a named one, by warp: who have come to it
};

}  // namespace simulator

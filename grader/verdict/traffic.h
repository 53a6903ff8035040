// Traffic: what a call's kernels ask of memory, counted by the simulator. No times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

constexpr std::int64_t kSectorBytes = 32;

struct Traffic {
  std::int64_t requested_bytes = 0;  // sectors that warps request of global memory, times 32
  std::int64_t distinct_bytes = 0;   // the same, each sector once a launch for reads and for writes
  std::vector<LineTraffic> lines;    // of all launches
};

/// "file:line"; of a line in a given header that of the student's call. Nothing if it is not known.
std::optional<std::string> location_of(const LineTraffic& line);

/// Of a call that came to its end, with its lines counted.
Traffic traffic_of(const Run& run);

}  // namespace onepass::verdict

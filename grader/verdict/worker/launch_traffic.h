// What the simulator counted of one launch's traffic, as it comes from the worker. See
// simulator/simulator.h for what is counted and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace onepass::verdict {

constexpr std::int64_t kSectorBytes = 32;

/// The accesses of one kind, at one line of source, to one buffer.
struct LineTraffic {
  std::string file;
  int line = 0;            // 0 if unknown
  bool is_shared = false;  // else global memory
  std::string type;        // "read", "write" or "atomic"
  std::string buffer;
  std::int64_t requests = 0;
  std::int64_t lanes = 0;        // active ones, summed over the requests
  std::int64_t bytes = 0;        // that differ within a request, summed
  std::int64_t units = 0;        // sectors (global) or wavefronts (shared)
  std::int64_t least_units = 0;  // had the bytes of each request lain side by side
  std::int64_t distinct_sectors = 0;
  std::int64_t lane_bytes = 0;     // of one lane's access, in a request of the costliest
  std::int64_t lane_distance = 0;  // there, from one lane's address to the next one's; 0: varies
};

struct LaunchTraffic {
  std::string kernel;
  std::int64_t blocks = 0;      // of the grid
  std::int64_t read_bytes = 0;  // as the lanes ask for them
  std::int64_t written_bytes = 0;
  // Only of a call whose lines are counted:
  std::int64_t distinct_sectors = 0;  // read ones and written ones
  std::vector<LineTraffic> lines = {};

  /// Sectors of global memory that were requested, read and written.
  std::int64_t requested_sectors() const;
};

/// Throws nlohmann::json::exception for what is not a launch.
LaunchTraffic traffic_from(const nlohmann::json& json);

}  // namespace onepass::verdict

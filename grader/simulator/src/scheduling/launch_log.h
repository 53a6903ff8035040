// The traffic of the launches that the host has not taken yet.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator.h"

namespace simulator {

struct LaunchLog {
  std::vector<LaunchTraffic> traffic;
  std::vector<std::vector<TracedRequest>> trace;  // one list for each launch
  bool count_requests = true;
  std::size_t most_traced = 0;  // requests to keep of each launch
};

LaunchLog& launch_log();

}  // namespace simulator

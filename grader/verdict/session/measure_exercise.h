// The measurements of an exercise after its checks: traffic on the simulator, bandwidth on a GPU.
#pragma once

#include <string>
#include <vector>

#include "verdict/session/chapter.h"
#include "verdict/session/events.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// Commands of the workers that take part. Only `student` must be there.
struct Implementations {
  std::vector<std::string> student;
  std::vector<std::string> naive;
  std::vector<std::string> reference;
};

/// Writes an event for each shape; what cannot be measured is told in one of its own.
void measure_traffic(const Exercise& exercise, const Implementations& implementations,
                     std::uint64_t seed, Events& events);
void measure_bandwidth(const Exercise& exercise, const Implementations& implementations,
                       std::uint64_t seed, Events& events);

}  // namespace onepass::verdict

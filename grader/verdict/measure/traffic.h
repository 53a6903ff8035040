// Traffic: bytes that kernels ask of global memory, counted by the simulator. No times.
#pragma once

#include <cstdint>
#include <string>

#include "verdict/case.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

struct Traffic {
  std::int64_t bytes = 0;  // read and written, all launches of the call
  std::string error;       // a sentence if the call failed; then there are no bytes
};

/// One call of `call` in `worker`, which must be one of the simulator.
Traffic measure_traffic(WorkerClient& worker, const Case& call, double time_limit);

}  // namespace onepass::verdict

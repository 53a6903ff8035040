#include "verdict/measure/traffic.h"

namespace onepass::verdict {

Traffic measure_traffic(WorkerClient& worker, const Case& call, double time_limit) {
  const Run run = worker.run(call, Poison::nan, time_limit);
  Traffic traffic;
  if (run.outcome != Outcome::ok) {
    traffic.error = run.error.empty() ? "the call failed" : run.error;
    return traffic;
  }
  for (const LaunchTraffic& launch : run.traffic) {
    traffic.bytes += launch.read_bytes + launch.written_bytes;
  }
  return traffic;
}

}  // namespace onepass::verdict

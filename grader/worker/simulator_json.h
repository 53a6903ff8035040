// What the simulator saw of a launch, as the protocol tells it.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/simulator.h"

namespace onepass::worker {

/// Finding, see protocol.h.
nlohmann::json finding_json(const simulator::Finding& finding);

/// LaunchTraffic, see protocol.h.
nlohmann::json traffic_json(const simulator::LaunchTraffic& launch);

/// [TracedRequest], see protocol.h: of the active lanes only.
nlohmann::json trace_json(const std::vector<simulator::TracedRequest>& requests);

}  // namespace onepass::worker

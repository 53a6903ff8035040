// The simulator's trace of one launch, as the protocol tells it.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/simulator.h"

namespace onepass::worker {

/// [TracedRequest], see protocol.h: of the active lanes only.
nlohmann::json trace_json(const std::vector<simulator::TracedRequest>& requests);

}  // namespace onepass::worker

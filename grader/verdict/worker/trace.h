// The requests of a call's launches, as they come from a worker of the simulator.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace onepass::verdict {

/// [{"kernel", "grid", "block", "lines": [LineTraffic], "requests": [TracedRequest]}], the members
/// named and meant as in simulator.h, from a reply to "run" with "trace". The student's code could
/// have written the reply: what is given back holds these members and numbers that fit together,
/// and nothing else. Throws std::exception for anything that does not.
nlohmann::json traced_launches(const nlohmann::json& reply);

}  // namespace onepass::verdict

// What a line's traffic means, in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "verdict/traffic.h"

namespace onepass::verdict {

/// "reads x", "updates count atomically".
std::string action(const LineTraffic& line);

/// What to do where lanes load or store packs element by element; nothing if the line does not.
std::optional<std::string> pack_advice(const LineTraffic& line);

/// What the line wastes, why, and what to do: "reads x: 32 sectors a request where 4 would do.
/// Neighbouring lanes are 4096 bytes apart, ...". Nothing if it wastes little, or is a small part
/// of the call's `requested_sectors` and `wavefronts`.
std::optional<std::string> advice(const LineTraffic& line, std::int64_t requested_sectors,
                                  std::int64_t wavefronts);

}  // namespace onepass::verdict

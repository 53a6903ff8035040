// The next step to a call that asks for less: the cause that most of the sectors come of which it
// could do without.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "verdict/case.h"
#include "verdict/traffic.h"

namespace onepass::verdict {

using Access = std::pair<std::string, AccessType>;  // to a tensor

struct NextStep {
  std::string sentence;  // empty if nothing stands out
  std::optional<std::string> location;
};

/// least: the sectors of the call's large tensors, each once. loads: how often each has to be read.
NextStep next_step(const Case& call, const Traffic& traffic, const std::map<Access, double>& least,
                   double loads);

/// Sectors that count for a point for speed: all of the large tensors and of memory of the
/// launcher's own; of scratch what a line asks for again; none of other tensors.
double counted_sectors(const Case& call, const LineTraffic& line,
                       const std::map<Access, double>& least);

}  // namespace onepass::verdict

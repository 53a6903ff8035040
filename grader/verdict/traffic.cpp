#include "verdict/traffic.h"

#include <algorithm>
#include <tuple>

namespace onepass::verdict {
namespace {

auto key(const LineTraffic& line) {
  return std::tie(line.file, line.line, line.caller_file, line.called_from, line.buffer, line.space,
                  line.type);
}

/// Adds a line's traffic, to that of earlier launches of the same kernel if there were any.
void add(std::vector<LineTraffic>& lines, const LineTraffic& line) {
  const auto known = std::find_if(lines.begin(), lines.end(), [&](const LineTraffic& candidate) {
    return key(candidate) == key(line);
  });
  if (known == lines.end()) {
    lines.push_back(line);
    return;
  }
  known->requests += line.requests;
  known->lanes += line.lanes;
  known->bytes += line.bytes;
  known->units += line.units;
  known->least_units += line.least_units;
  known->distinct_sectors += line.distinct_sectors;
}

}  // namespace

std::optional<std::string> location_of(const LineTraffic& line) {
  if (!line.caller_file.empty()) {
    return line.caller_file + ":" + std::to_string(line.called_from);
  }
  return line.line > 0 ? std::optional(line.file + ":" + std::to_string(line.line)) : std::nullopt;
}

Traffic traffic_of(const Run& run) {
  Traffic traffic;
  for (const LaunchTraffic& launch : run.traffic) {
    traffic.distinct_bytes += (launch.read_sectors + launch.written_sectors) * kSectorBytes;
    for (const LineTraffic& line : launch.lines) {
      traffic.requested_bytes += line.space == MemorySpace::global ? line.units * kSectorBytes : 0;
      add(traffic.lines, line);
    }
  }
  return traffic;
}

}  // namespace onepass::verdict

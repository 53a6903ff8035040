#include "verdict/traffic.h"

#include <algorithm>
#include <tuple>

namespace onepass::verdict {
namespace {

auto key(const LineTraffic& line) {
  return std::tie(line.file, line.line, line.buffer, line.space, line.type);
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

Traffic traffic_of(const Run& run) {
  Traffic traffic;
  std::uint64_t most_read = 0;
  for (const LaunchTraffic& launch : run.traffic) {
    most_read = std::max(most_read, launch.read_bytes);
  }
  for (const LaunchTraffic& launch : run.traffic) {
    traffic.distinct_bytes += (launch.read_sectors + launch.written_sectors) * kSectorBytes;
    for (const LineTraffic& line : launch.lines) {
      traffic.requested_bytes += line.space == MemorySpace::global ? line.units * kSectorBytes : 0;
      add(traffic.lines, line);
    }
    const auto blocks = std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    if (2 * launch.read_bytes >= most_read) {
      traffic.fewest_blocks =
          traffic.fewest_blocks == 0 ? blocks : std::min(traffic.fewest_blocks, blocks);
    }
  }
  return traffic;
}

}  // namespace onepass::verdict

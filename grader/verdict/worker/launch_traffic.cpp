#include "verdict/worker/launch_traffic.h"

#include <array>

#include <nlohmann/json.hpp>

namespace onepass::verdict {
namespace {

using nlohmann::json;

LineTraffic line_from(const json& object) {
  LineTraffic line;
  object.at("file").get_to(line.file);
  object.at("line").get_to(line.line);
  line.is_shared = object.at("space") == "shared";
  object.at("type").get_to(line.type);
  object.at("buffer").get_to(line.buffer);
  object.at("requests").get_to(line.requests);
  object.at("lanes").get_to(line.lanes);
  object.at("bytes").get_to(line.bytes);
  object.at("units").get_to(line.units);
  object.at("least_units").get_to(line.least_units);
  object.at("distinct_sectors").get_to(line.distinct_sectors);
  object.at("lane_bytes").get_to(line.lane_bytes);
  object.at("lane_distance").get_to(line.lane_distance);
  return line;
}

}  // namespace

std::int64_t LaunchTraffic::requested_sectors() const {
  std::int64_t sum = 0;
  for (const LineTraffic& line : lines) {
    sum += line.is_shared ? 0 : line.units;
  }
  return sum;
}

LaunchTraffic traffic_from(const json& object) {
  LaunchTraffic launch;
  object.at("kernel").get_to(launch.kernel);
  const auto grid = object.at("grid").get<std::array<std::int64_t, 3>>();
  launch.blocks = grid[0] * grid[1] * grid[2];
  object.at("read_bytes").get_to(launch.read_bytes);
  object.at("written_bytes").get_to(launch.written_bytes);
  if (object.contains("lines")) {
    launch.distinct_sectors = object.at("read_sectors").get<std::int64_t>() +
                              object.at("written_sectors").get<std::int64_t>();
    for (const json& line : object.at("lines")) {
      launch.lines.push_back(line_from(line));
    }
  }
  return launch;
}

}  // namespace onepass::verdict

#include "worker/simulator_json.h"

#include <nlohmann/json.hpp>

namespace onepass::worker {

using nlohmann::json;

namespace {

json to_json(const simulator::Dim3& size) {
  return {size.x, size.y, size.z};
}

json to_json(const simulator::Party& party) {
  return {{"action", party.action},          {"file", party.file}, {"line", party.line},
          {"thread", to_json(party.thread)}, {"warp", party.warp}, {"lane", party.lane},
          {"block", to_json(party.block)}};
}

const char* name(simulator::MemorySpace space) {
  return space == simulator::MemorySpace::global ? "global" : "shared";
}

const char* name(simulator::AccessType type) {
  switch (type) {
    case simulator::AccessType::read:
      return "read";
    case simulator::AccessType::write:
      return "write";
    case simulator::AccessType::atomic:
      return "atomic";
  }
  return "";
}

json to_json(const simulator::LineTraffic& line) {
  return {{"file", line.file},
          {"line", line.line},
          {"space", name(line.space)},
          {"type", name(line.type)},
          {"buffer", line.buffer},
          {"requests", line.requests},
          {"lanes", line.lanes},
          {"bytes", line.bytes},
          {"units", line.units},
          {"least_units", line.least_units},
          {"distinct_sectors", line.distinct_sectors},
          {"lane_bytes", line.lane_bytes},
          {"lane_distance", line.lane_distance}};
}

}  // namespace

json finding_json(const simulator::Finding& finding) {
  json parties = json::array();
  for (const simulator::Party& party : finding.parties) {
    parties.push_back(to_json(party));
  }
  return {{"kind", simulator::kind_name(finding.kind)},
          {"kernel", finding.kernel},
          {"message", finding.message},
          {"severity", finding.warning ? "warning" : "error"},
          {"parties", parties},
          {"buffer", finding.buffer.empty() ? json() : json(finding.buffer)},
          {"index", finding.index < 0 ? json() : json(finding.index)}};
}

json traffic_json(const simulator::LaunchTraffic& launch) {
  json result = {{"kernel", launch.kernel},
                 {"grid", to_json(launch.grid)},
                 {"block", to_json(launch.block)},
                 {"read_bytes", launch.read_bytes},
                 {"written_bytes", launch.written_bytes}};
  if (launch.lines.empty()) {
    return result;
  }
  result["read_sectors"] = launch.read_sectors;
  result["written_sectors"] = launch.written_sectors;
  for (const simulator::LineTraffic& line : launch.lines) {
    result["lines"].push_back(to_json(line));
  }
  return result;
}

json trace_json(const std::vector<simulator::TracedRequest>& requests) {
  json list = json::array();
  for (const simulator::TracedRequest& request : requests) {
    json offsets = json::array();
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((request.lanes >> lane & 1u) != 0) {
        offsets.push_back(request.offsets[lane]);
      }
    }
    list.push_back({{"block", request.block},
                    {"warp", request.warp},
                    {"step", request.step},
                    {"line", request.line},
                    {"lanes", request.lanes},
                    {"bytes", request.bytes},
                    {"units", request.units},
                    {"least_units", request.least_units},
                    {"offsets", std::move(offsets)}});
  }
  return list;
}

}  // namespace onepass::worker

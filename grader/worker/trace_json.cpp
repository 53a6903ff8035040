#include "worker/trace_json.h"

#include <nlohmann/json.hpp>

namespace onepass::worker {

using nlohmann::json;

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

#include "verdict/worker/trace.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace onepass::verdict {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostCount = std::int64_t{1} << 52;  // beyond it JavaScript has no integers

std::int64_t number(const json& object, const char* key, std::int64_t least, std::int64_t most) {
  const auto value = object.at(key).get<std::int64_t>();
  if (value < least || value > most) {
    throw std::out_of_range(key);
  }
  return value;
}

std::string one_of(const json& object, const char* key, std::initializer_list<const char*> words) {
  const auto value = object.at(key).get<std::string>();
  for (const char* word : words) {
    if (value == word) {
      return value;
    }
  }
  throw std::out_of_range(key);
}

json counts(const json& object, std::initializer_list<const char*> keys) {
  json result = json::object();
  for (const char* key : keys) {
    result[key] = number(object, key, 0, kMostCount);
  }
  return result;
}

json traced_line(const json& line) {
  json result = counts(line, {"line", "requests", "lanes", "bytes", "units", "least_units"});
  result["file"] = line.at("file").get<std::string>();
  result["buffer"] = line.at("buffer").get<std::string>();
  result["space"] = one_of(line, "space", {"shared", "global"});
  result["type"] = one_of(line, "type", {"read", "write", "atomic"});
  return result;
}

json request_from(const json& request, std::size_t lines) {
  json result = counts(request, {"block", "warp", "step", "units", "least_units"});
  result["line"] = number(request, "line", 0, static_cast<std::int64_t>(lines) - 1);
  result["bytes"] = number(request, "bytes", 1, 16);
  const std::int64_t lanes = number(request, "lanes", 1, 0xffffffff);
  const auto offsets = request.at("offsets").get<std::vector<std::int64_t>>();
  if (offsets.size() != static_cast<std::size_t>(__builtin_popcountll(lanes))) {
    throw std::out_of_range("offsets");
  }
  result["lanes"] = lanes;
  result["offsets"] = offsets;
  return result;
}

json launch_from(const json& launch, const json& requests) {
  using Size = std::array<std::int64_t, 3>;
  json result = {{"kernel", launch.at("kernel").get<std::string>()},
                 {"grid", launch.at("grid").get<Size>()},
                 {"block", launch.at("block").get<Size>()},
                 {"lines", json::array()},
                 {"requests", json::array()}};
  for (const json& line : launch.value("lines", json::array())) {  // none where nothing is touched
    result["lines"].push_back(traced_line(line));
  }
  for (const json& request : requests) {
    result["requests"].push_back(request_from(request, result["lines"].size()));
  }
  return result;
}

}  // namespace

json traced_launches(const json& reply) {
  const json& launches = reply.at("traffic");
  const json& trace = reply.at("trace");
  if (launches.size() != trace.size()) {
    throw std::out_of_range("trace");
  }
  json result = json::array();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    result.push_back(launch_from(launches.at(i), trace.at(i)));
  }
  return result;
}

}  // namespace onepass::verdict

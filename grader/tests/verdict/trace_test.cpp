// What a worker says of its requests is taken over only where it makes sense.
#include "verdict/worker/trace.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace onepass::verdict;
using nlohmann::json;

namespace {

json good_reply() {
  const json line = {{"file", "f.cu"}, {"line", 7},       {"space", "global"}, {"type", "read"},
                     {"buffer", "x"},  {"requests", 1},   {"lanes", 2},        {"bytes", 8},
                     {"units", 2},     {"least_units", 1}};
  const json request = {{"block", 3}, {"warp", 1},        {"step", 0},
                        {"line", 0},  {"lanes", 5},       {"bytes", 4},
                        {"units", 2}, {"least_units", 1}, {"offsets", {0, 64}}};
  const json launch = {{"kernel", "k"},   {"grid", {4, 1, 1}},  {"block", {64, 1, 1}},
                       {"read_bytes", 8}, {"written_bytes", 0}, {"lines", {line}}};
  return {{"traffic", {launch}}, {"trace", {{request}}}};
}

/// Is the reply refused with this change?
bool refused(const char* pointer, const json& value) {
  json reply = good_reply();
  reply[json::json_pointer(pointer)] = value;
  try {
    traced_launches(reply);
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

TEST_CASE("a launch is taken over with its lines and its requests") {
  const json launches = traced_launches(good_reply());
  REQUIRE(launches.size() == 1);
  CHECK(launches[0]["kernel"] == "k");
  CHECK(launches[0]["grid"] == json{4, 1, 1});
  CHECK(launches[0]["lines"] == good_reply()["traffic"][0]["lines"]);
  CHECK(launches[0]["requests"] == good_reply()["trace"][0]);
  CHECK(traced_launches({{"traffic", json::array()}, {"trace", json::array()}}).empty());
}

TEST_CASE("members that the map does not know are left out") {
  json reply = good_reply();
  reply["traffic"][0]["lines"][0]["extra"] = "<b>";
  reply["trace"][0][0]["extra"] = "<b>";
  CHECK(traced_launches(reply) == traced_launches(good_reply()));
}

TEST_CASE("numbers that do not fit together are refused") {
  CHECK_FALSE(refused("/trace/0/0/warp", 2));
  CHECK(refused("/trace/0/0/line", 1));  // there is one line
  CHECK(refused("/trace/0/0/line", -1));
  CHECK(refused("/trace/0/0/lanes", 7));  // three lanes, two offsets
  CHECK(refused("/trace/0/0/lanes", 0));
  CHECK(refused("/trace/0/0/bytes", 17));
  CHECK(refused("/trace/0/0/units", -1));
  CHECK(refused("/trace/0/0/offsets", "0, 64"));
  CHECK(refused("/trace/0", 3));
  CHECK(refused("/trace", json::array()));  // one launch, no list
  CHECK(refused("/traffic/0/lines/0/space", "elsewhere"));
  CHECK(refused("/traffic/0/lines/0/type", "<script>"));
  CHECK(refused("/traffic/0/lines/0/requests", int64_t{1} << 60));
  CHECK(refused("/traffic/0/lines/0/buffer", 3));
  CHECK(refused("/traffic/0/grid", {1, 2}));
  CHECK(refused("/traffic/0/kernel", nullptr));
}

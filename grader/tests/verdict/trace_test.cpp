// What a worker says of its requests is taken over only where it makes sense.
#include "verdict/worker/messages.h"

#include <doctest/doctest.h>

#include "wire/json.h"

using namespace onepass;
using nlohmann::json;

namespace {

json good() {
  simulator::LineTraffic line;
  line.file = "f.cu";
  line.line = 7;
  line.requests = 1;
  simulator::LaunchTraffic launch;
  launch.kernel = "k";
  launch.lines = {line};
  const simulator::TracedRequest request{3, 1, 0, 0, 5, 4, 2, 1, {0, 64}};
  return wire::Observations{{}, {launch}, {{request}}};
}

/// Is it refused with this change?
bool refused(const char* pointer, const json& value) {
  json changed = good();
  changed[json::json_pointer(pointer)] = value;
  try {
    verdict::require_sound_trace(wire::read<wire::Observations>(changed));
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

TEST_CASE("a trace that makes sense, and none") {
  CHECK_FALSE(refused("/trace/0/0/warp", 2));
  CHECK_FALSE(refused("/trace/0", json::array()));
}

TEST_CASE("numbers that do not fit together are refused") {
  CHECK(refused("/trace/0/0/line", 1));  // there is one line
  CHECK(refused("/trace/0/0/line", -1));
  CHECK(refused("/trace/0/0/warp", -1));
  CHECK(refused("/trace/0/0/lanes", 7));  // three lanes, two offsets
  CHECK(refused("/trace/0/0/lanes", 0));
  CHECK(refused("/trace/0/0/bytes", 17));
  CHECK(refused("/traffic/0/lines/0/requests", int64_t{1} << 60));
  CHECK(refused("/trace", json::array()));  // one launch, no list
}

TEST_CASE("what is of another type, of no known name, beyond its range or unknown is refused") {
  CHECK(refused("/trace/0/0/units", -1));
  CHECK(refused("/trace/0/0/units", 2.5));
  CHECK(refused("/trace/0/0/units", int64_t{1} << 33));
  CHECK(refused("/trace/0/0/units", true));
  CHECK(refused("/trace/0/0/offsets", "0, 64"));
  CHECK(refused("/trace/0", 3));
  CHECK(refused("/traffic/0/lines/0/space", "elsewhere"));
  CHECK(refused("/traffic/0/lines/0/type", "<script>"));
  CHECK(refused("/traffic/0/lines/0/buffer", 3));
  CHECK(refused("/traffic/0/lines/0/extra", "<b>"));
  CHECK(refused("/traffic/0/grid", {1, 2}));
  CHECK(refused("/traffic/0/grid", {1, 2, 3, 4}));
  CHECK(refused("/traffic/0/kernel", nullptr));
  CHECK(refused("/findings", {{{"kind", "unheard-of"}}}));
}

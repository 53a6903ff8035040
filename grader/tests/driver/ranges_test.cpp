// Lists and ranges of numbers on the command line.
#include "driver/measure/ranges.h"

#include <doctest/doctest.h>

#include "driver/bad_input.h"

using namespace onepass::driver;

namespace {

using Numbers = std::vector<std::int64_t>;

std::string refusal(const std::string& text) {
  try {
    numbers_of("--cols", text);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("numbers, ranges and doublings, and lists of them") {
  CHECK(numbers_of("--cols", "256") == Numbers{256});
  CHECK(numbers_of("--cols", "256,512") == Numbers{256, 512});
  CHECK(numbers_of("--cols", "1024:4096:1024") == Numbers{1024, 2048, 3072, 4096});
  CHECK(numbers_of("--cols", "1:10:4") == Numbers{1, 5, 9});  // 10 is not come by
  CHECK(numbers_of("--cols", "256:2048:x2") == Numbers{256, 512, 1024, 2048});
  CHECK(numbers_of("--cols", "1,10:20:10,3:30:x3") == Numbers{1, 10, 20, 3, 9, 27});
  CHECK(numbers_of("--cols", "7:7:x2") == Numbers{7});
  CHECK(numbers_of("--cols", "2147483647") == Numbers{2147483647});
}

TEST_CASE("what cannot be read is shown, with what can") {
  for (const char* text : {"", ",", "256,", "a", "-5", "1:2", "1:2:3:4", "1:2:0", "1:2:x1",
                           "1:2:x0", "2:1:1", "256..512", "1.5", " 1", "1:2:x", "99999999999"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("give numbers (256,512), a range start:end:step (1024:4096:1024), or "
                             "doublings start:end:x2 (256:8192:x2).") != std::string::npos);
  }
  CHECK(refusal("1:2").substr(0, 27) == "--cols 1:2 cannot be read: ");
}

TEST_CASE("numbers have bounds, and so has their number") {
  CHECK(refusal("0") == "--cols takes numbers from 1 to 2147483647.");
  CHECK(refusal("2147483648") == "--cols takes numbers from 1 to 2147483647.");
  CHECK(refusal("1:1000:1") == "");
  CHECK(refusal("1:1001:1") == "--cols 1:1001:1 is more than 1000 numbers: take a larger step.");
}

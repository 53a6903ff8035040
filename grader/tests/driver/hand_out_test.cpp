// Which check is graded next, and what is left after too many timeouts.
#include "driver/hand_out.h"

#include <doctest/doctest.h>

using namespace onepass::driver;

namespace {

Json graded(const std::string& name, const std::string& status) {
  return {{"name", name}, {"status", status}, {"points", 1}, {"todo", 1}, {"message", "m"}};
}

std::string rest_of(HandOut& checks) {
  std::string names;
  while (const auto name = checks.next()) {
    names += *name;
  }
  return names;
}

}  // namespace

TEST_CASE("each check is handed out once, in the order of the workbook") {
  HandOut checks({"a", "b", "c"});
  CHECK(checks.next() == "a");
  checks.note(graded("a", "failed"));
  CHECK(rest_of(checks) == "bc");
  CHECK_FALSE(checks.next());
}

TEST_CASE("each is handed out once, from both ends") {
  HandOut checks({"a", "b", "c"});
  CHECK(checks.next(true) == "c");
  CHECK(checks.next() == "a");
  CHECK(checks.next(true) == "b");
  CHECK_FALSE(checks.next(true));
  CHECK_FALSE(checks.next());
}

TEST_CASE("after two timeouts at the end those before it are handed out all the same") {
  HandOut checks({"a", "b", "c", "d", "e"});
  checks.note(graded(*checks.next(true), "timed out"), true);
  checks.note(graded(*checks.next(true), "timed out"), true);
  CHECK_FALSE(checks.next(true));
  CHECK(rest_of(checks) == "abc");
}

TEST_CASE("none after one that is the last, or after two timeouts") {
  HandOut checks({"a", "b", "c"}, [](const Json& check) { return check["status"] == "failed"; });
  CHECK(checks.next() == "a");
  checks.note(graded("a", "passed"));
  CHECK(checks.next() == "b");
  checks.note(graded("b", "failed"));
  CHECK(rest_of(checks) == "");

  HandOut slow({"a", "b", "c", "d"});
  slow.note(graded("a", "timed out"));
  CHECK(slow.next() == "a");
  slow.note(graded("b", "timed out"));
  CHECK(rest_of(slow) == "");
}

TEST_CASE("what comes after two timeouts has run out of time, whoever had begun it") {
  Json exercise = {{"checks",
                    {graded("a", "timed out"), graded("b", "passed"), graded("c", "timed out"),
                     graded("d", "passed"), graded("e", "ungraded"), graded("f", "not run")}}};
  exercise["checks"][3]["detail"] = {{"where", "x"}};
  set_rest_timed_out(exercise);
  std::string told;
  for (const Json& one : exercise["checks"]) {
    told += one["status"].get<std::string>() + ", ";
  }
  CHECK(told == "timed out, passed, timed out, timed out, timed out, not run, ");
  CHECK(exercise["checks"][2]["message"] == "m");
  CHECK(exercise["checks"][3]["message"] ==
        "Not run, since two checks before this one ran out of time.");
  CHECK_FALSE(exercise["checks"][3].contains("detail"));
}

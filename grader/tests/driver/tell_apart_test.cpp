// What several checks tell together.
#include "driver/tell_apart.h"

#include <doctest/doctest.h>

using namespace onepass::driver;

namespace {

Json check(const Json& diagnosis, const std::vector<std::string>& possible) {
  Json result = {{"message", "wrong."}, {"diagnosis", diagnosis}, {"possible", Json::array()}};
  for (const std::string& one : possible) {
    result["possible"].push_back({{"diagnosis", one}, {"sentence", "It is " + one + "."}});
  }
  return result;
}

}  // namespace

TEST_CASE("of the mistakes that explain a failure, that which explains more of them is named") {
  Json checks = {check(nullptr, {"a", "b"}), check("b", {}), check(nullptr, {"c", "b"})};
  tell_apart(checks);
  for (const Json& one : checks) {
    CHECK(one["diagnosis"] == "b");
    CHECK_FALSE(one.contains("possible"));
  }
  CHECK(checks[0]["message"] == "wrong.\nIt is b.");
  CHECK(checks[1]["message"] == "wrong.");
}

TEST_CASE("what explains a single failure, and not alone, is not named") {
  Json checks = {check(nullptr, {"a", "b"}), check(nullptr, {"c"}), check(nullptr, {})};
  tell_apart(checks);
  for (const Json& one : checks) {
    CHECK(one["diagnosis"].is_null());
    CHECK(one["message"] == "wrong.");
  }
}

TEST_CASE("its own mistake stays, with its sentence, where no other explains more") {
  Json checks = {check("a", {"a", "b"})};
  tell_apart(checks);
  CHECK(checks[0]["diagnosis"] == "a");
  CHECK(checks[0]["message"] == "wrong.\nIt is a.");
}

TEST_CASE("a warning that the failure has told") {
  const Json failed = {{"location", "x.cu:5"}, {"message", "y is nan.\nA lane is gone.\n  x.cu:5"}};
  CHECK(is_told_by(failed, "x.cu:5: A lane is gone.\nDo not return."));
  CHECK_FALSE(is_told_by(failed, "x.cu:57: A lane is gone.\nDo not return."));
  CHECK_FALSE(is_told_by(failed, "x.cu:5: A lane is left.\nDo not return."));
  CHECK_FALSE(
      is_told_by({{"location", nullptr}, {"message", "A lane is gone."}}, "A lane is gone."));
}

TEST_CASE("a warning about one line is told once, others each time they differ") {
  const std::string first = "x.cu:5: y[0] is written twice.\nUse an atomic.";
  const std::string again = "x.cu:5: y[7] is written twice.\nUse an atomic.";
  const std::string other = "x.cu:5: y[7] is read too early.\nPut a barrier.";
  Json checks = {{{"warnings", {first}}},
                 {{"warnings", {again, other}}},
                 {{"warnings", {"Left out: rows 5", "Left out: rows 6"}}}};
  tell_warnings_once(checks);
  CHECK(checks[0]["warnings"] == Json({first}));
  CHECK(checks[1]["warnings"] == Json({other}));
  CHECK(checks[2]["warnings"].size() == 2);
}

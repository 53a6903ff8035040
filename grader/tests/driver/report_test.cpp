// How events add up to a status and a score.
#include "driver/report.h"

#include <doctest/doctest.h>

#include "driver/bad_input.h"

using namespace onepass::driver;

namespace {

Json report_with(const std::vector<std::string>& statuses) {
  onepass::wire::ExerciseInfo info{"toy/first", "First", "docs/toy.md", {}};
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    info.checks.push_back({std::to_string(i), static_cast<int>(i) + 1, 1});
  }
  Json report = make_report(Device::cpu, "CPU simulator", 1);
  report["exercises"].push_back(make_exercise(info, "first.cu"));
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    if (!statuses[i].empty()) {
      apply_event(report["exercises"][0],
                  {{"event", "check"}, {"name", std::to_string(i)}, {"status", statuses[i]}});
    }
  }
  settle(report);
  return report;
}

std::string status_of(const std::vector<std::string>& statuses) {
  return report_with(statuses)["exercises"][0]["status"];
}

}  // namespace

TEST_CASE("the status of an exercise") {
  CHECK(status_of({"passed", "passed"}) == "passed");
  CHECK(status_of({"not started", "not started"}) == "not started");
  CHECK(status_of({"passed", "not started"}) == "failed");
  CHECK(status_of({"not started", "crashed"}) == "failed");
  CHECK(status_of({"passed", "timed out", "failed"}) == "timed out");
  CHECK(status_of({"failed", ""}) == "ungraded");
}

TEST_CASE("points are those of the passed checks") {
  const Json report = report_with({"passed", "failed", "passed"});
  CHECK(report["score"] == 4);
  CHECK(report["max_score"] == 6);
  CHECK_FALSE(all_passed(report));
  CHECK_FALSE(has_ungraded(report));
}

TEST_CASE("a fault that only a right TODO's check shows costs that check's points") {
  const TodoStates todos = {{1, TodoState::wrong}, {2, TodoState::right}};
  const auto score_of = [&](const std::vector<std::string>& statuses) {
    Json report = report_with(statuses);  // of 1 and of 2 points
    report["exercises"][0]["checks"][1]["todo"] = 2;
    add_conclusion(report["exercises"][0], todos, {"", {2}});
    settle(report);
    return report["score"].get<int>();
  };
  CHECK(score_of({"passed", "failed"}) == 1);
  CHECK(score_of({"failed", "failed"}) == 2);
  CHECK(score_of({"failed", "passed"}) == 2);
}

TEST_CASE("an optional exercise counts from when it is begun, and alone") {
  const auto with_optional = [](const std::string& status, bool alone = false) {
    Json report = report_with({"passed"});
    Json optional = report_with({status, status})["exercises"][0];
    optional["optional"] = true;
    report["exercises"].push_back(optional);
    if (alone) {
      report["exercises"].erase(0);
    }
    settle(report);
    return std::pair(report["max_score"].get<int>(), all_passed(report));
  };
  CHECK(with_optional("not started") == std::pair(1, true));
  CHECK(with_optional("missing") == std::pair(1, true));
  CHECK(with_optional("failed") == std::pair(4, false));
  CHECK(with_optional("passed") == std::pair(4, true));
  CHECK(with_optional("not started", true) == std::pair(3, false));
}

TEST_CASE("a grader cannot add a check or change what one is worth") {
  Json report = report_with({"passed"});
  Json& exercise = report["exercises"][0];
  apply_event(exercise, {{"event", "check"}, {"name", "0"}, {"status", "passed"}, {"points", 90}});
  CHECK(exercise["checks"][0]["points"] == 1);
  CHECK_THROWS_AS(apply_event(exercise, {{"event", "check"}, {"name", "more"}}), GraderFault);
}

TEST_CASE("what the simulator says is added to a GPU's verdict, and its reason goes before") {
  Json report = report_with({"failed", "failed"});
  Json& exercise = report["exercises"][0];
  exercise["checks"][0]["diagnosis"] = "no-tail-mask";
  exercise["checks"][1]["diagnosis"] = "no-tail-mask";
  const Json event = {{"name", "0"},
                      {"status", "device error"},
                      {"message", "Thread 3 reads past the end of x."},
                      {"diagnosis", "stride-ignored"},
                      {"location", "first.cu:52"}};
  add_explanation(exercise, event);
  Json unexplained = event;
  unexplained["name"] = "1";
  unexplained["diagnosis"] = nullptr;
  add_explanation(exercise, unexplained);
  CHECK(exercise["checks"][0]["status"] == "failed");
  CHECK(exercise["checks"][0]["location"] == "first.cu:52");
  CHECK(exercise["checks"][0]["diagnosis"] == "stride-ignored");
  CHECK(exercise["checks"][1]["diagnosis"] == "no-tail-mask");
  CHECK(exercise["checks"][1]["simulator"]["message"] == "Thread 3 reads past the end of x.");
}

TEST_CASE("a race that a GPU got right fails, and what was measured of it goes") {
  Json report = report_with({"passed", "passed"});
  Json& exercise = report["exercises"][0];
  apply_event(exercise, {{"event", "bandwidth"}, {"rows", 3}});
  add_objection(exercise,
                {{"event", "check"},
                 {"name", "1"},
                 {"status", "failed"},
                 {"message", "partial[1] is read and written."},
                 {"diagnosis", "missing-barrier"},
                 {"location", "first.cu:43"}},
                "onepass grade --device cpu");
  settle(report);
  CHECK(exercise["status"] == "failed");
  CHECK(exercise["checks"][0]["status"] == "passed");
  CHECK(exercise["checks"][1]["diagnosis"] == "missing-barrier");
  CHECK(exercise["checks"][1]["replay"] == "onepass grade --device cpu");
  CHECK(exercise["checks"][1]["message"].get<std::string>().find("came out right") !=
        std::string::npos);
  CHECK(exercise["bandwidth"].empty());
}

TEST_CASE("measurements are kept as they come") {
  Json report = report_with({"passed"});
  Json& exercise = report["exercises"][0];
  apply_event(exercise, {{"event", "traffic"}, {"rows", 3}, {"least_bytes", 12}});
  CHECK(exercise["traffic"] == Json::array({{{"rows", 3}, {"least_bytes", 12}}}));
}

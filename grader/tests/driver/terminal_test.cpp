// The terminal's report, against files that show what it is to look like. To accept a new look:
// ONEPASS_ACCEPT=1 build/bin/driver_test, then read the difference that git shows.
#include "driver/terminal.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "driver/files.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

std::string rendered(const Json& report) {
  return render_verdict(report, {}) + render_figures(report, {}) + render_end(report, {});
}

}  // namespace

TEST_CASE("reports look as the golden files show") {
  const fs::path folder = fs::path(ONEPASS_SOURCE_DIR) / "grader/tests/driver/golden";
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    ++count;
    Json report = Json::parse(read_file(entry.path()));
    settle(report);
    const std::string text = rendered(report);
    fs::path golden = entry.path();
    golden.replace_extension(".txt");
    if (std::getenv("ONEPASS_ACCEPT") != nullptr) {
      write_file(golden, text);
    }
    INFO(golden.string());
    REQUIRE(fs::exists(golden));
    CHECK(text == read_file(golden));
  }
  CHECK(count >= 4);
}

TEST_CASE("colour is added around the same words") {
  Json report = make_report(Device::cpu, "CPU simulator", 1);
  const std::string plain = rendered(report);
  const std::string coloured = render_end(report, {true});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(coloured.find("\x1b[1mScore: 0 of 0\x1b[0m") != std::string::npos);
}

TEST_CASE("colour goes into a pipe where it is asked for, and nowhere where it is not wanted") {
  setenv("CLICOLOR_FORCE", "1", 1);
  CHECK(style_for(-1).color);
  setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(style_for(-1).color);
  unsetenv("CLICOLOR_FORCE");
  unsetenv("NO_COLOR");
  CHECK_FALSE(style_for(-1).color);
}

TEST_CASE("beside a failure, those of a long list that are not started are counted only") {
  const onepass::wire::ExerciseInfo info{"toy/first", "First", "docs/toy.md", {{"it works", 2, 1}}};
  Json report = make_report(Device::cpu, "CPU simulator", 1);
  for (int i = 0; i < 12; ++i) {
    report["exercises"].push_back(make_exercise(info, "first.cu"));
    set_all_checks(report["exercises"].back(), "not started", "", "");
  }
  settle(report);
  CHECK(render_verdict(report, {}).find("and ") == std::string::npos);
  set_all_checks(report["exercises"][3], "failed", "No.", "");
  settle(report);
  const std::string text = render_verdict(report, {});
  CHECK(text.find("seed 1\n\ntoy/first    0 of 2   failed         First\nand 11 not started\n\n") !=
        std::string::npos);
  CHECK(render_verdict(report, {false, false, true}).find("and ") == std::string::npos);
}

TEST_CASE("of several failures the first one with a cause is told first, and opened") {
  onepass::wire::ExerciseInfo info{"toy/first", "First", "docs/toy.md", {}};
  Json report = make_report(Device::cpu, "CPU simulator", 1);
  for (const int todo : {1, 2, 3}) {
    info.checks.push_back({"check " + std::to_string(todo), 1, todo});
  }
  report["exercises"].push_back(make_exercise(info, "first.cu"));
  for (Json& check : report["exercises"][0]["checks"]) {
    check["status"] = "failed";
  }
  report["exercises"][0]["checks"][1]["diagnosis"] = "eps-ignored";
  report["complete"] = true;
  settle(report);
  const std::string text = rendered(report);
  CHECK(text.find("check 2") < text.find("check 1"));
  CHECK(text.find("check 1") < text.find("check 3"));
  CHECK(text.find("Open next: first.cu (a check of TODO 2 failed)\n") != std::string::npos);
}

TEST_CASE("a TODO that is wrong for sure is opened before one of which nothing is known") {
  onepass::wire::ExerciseInfo info{"toy/first", "First", "docs/toy.md", {}};
  Json report = make_report(Device::cpu, "CPU simulator", 1);
  for (const int todo : {1, 2, 3}) {
    info.checks.push_back({"check " + std::to_string(todo), 1, todo});
  }
  report["exercises"].push_back(make_exercise(info, "first.cu"));
  Json& exercise = report["exercises"][0];
  for (Json& check : exercise["checks"]) {
    check["status"] = "failed";
  }
  exercise["checks"][0]["granted"] = true;
  report["complete"] = true;
  const auto opened = [&](const char* third) {
    exercise["todos"] = {{{"todo", 1}, {"state", "right"}},
                         {{"todo", 2}, {"state", "unknown"}},
                         {{"todo", 3}, {"state", third}}};
    settle(report);
    const std::string text = rendered(report);
    return text.substr(text.find("Open next"));
  };
  CHECK(opened("wrong") == "Open next: first.cu, TODO 3\n");
  CHECK(opened("unknown") == "Open next: first.cu (a check of TODO 2 failed)\n");
  exercise["checks"][1]["todo_at_location"] = 3;  // a line of another TODO's
  CHECK(opened("unknown") == "Open next: first.cu (a check of TODO 3 failed)\n");
  CHECK(opened("right") == "Open next: first.cu (a check of TODO 2 failed)\n");
}

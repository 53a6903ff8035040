// Ctrl-C, in every command: what was known by then is kept, and nothing is left running.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "driver/files.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;

TEST_CASE("Ctrl-C keeps the report so far, blames nobody, and ends the grader") {
  const Workbook workbook;
  const std::string marks = workbook.root().string();
  workbook.set_grader(fmt::format(R"(
[ "$EXERCISE" = toy/second ] && touch {0}/second
echo '{{"event":"check","name":"answers 42","status":"passed"}}' >> "$EVENTS"
(sleep 5; touch {0}/survived) & sleep 60
)",
                                  marks));
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = workbook.onepass("grade & pid=$!; sleep 3; kill -INT $pid; wait $pid");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  CHECK(outcome.code == 130);
  CHECK(has(outcome.output, "toy/first     2 of 5   interrupted    The first\n"));
  CHECK(has(outcome.output, "\nInterrupted: this is what was known by then.\n"));
  CHECK_FALSE(has(outcome.output, "fault"));
  const Json report = workbook.report("report/exercises");
  CHECK(report["complete"] == false);
  CHECK(report["exercises"][0]["checks"][0]["status"] == "passed");
  CHECK(report["exercises"][0]["checks"][1]["status"] == "ungraded");
  CHECK_FALSE(report["exercises"][0].contains("fault"));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  CHECK_FALSE(std::filesystem::exists(marks + "/survived"));
}

TEST_CASE("Ctrl-C while a file is compiled, in every command") {
  const Workbook workbook;
  CHECK(workbook.onepass("grade").code == 0);
  CHECK(workbook.report("report/exercises")["complete"] == true);
  const auto rewriter = workbook.root() / "build/rewrite";
  write_file(rewriter, "#!/bin/sh\nsleep 60\n");
  std::filesystem::permissions(rewriter, std::filesystem::perms::all);
  for (const char* command : {"grade", "map first", "measure first --rows 2 --cols 8"}) {
    INFO(command);
    const auto outcome =
        workbook.onepass(std::string(command) + " & pid=$!; sleep 1; kill -INT $pid; wait $pid");
    CHECK(outcome.code == 130);
    CHECK(has(outcome.output, "Interrupted"));
    CHECK_FALSE(has(outcome.output, "fault"));
  }
  CHECK(workbook.report("report/exercises")["complete"] == false);
}

// `onepass map` as a user meets it: exit codes and sentences. The grader is a shell script; what a
// real one says is in map_test.cpp.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

constexpr const char* kLaunch =
    R"({"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "lines": [],)"
    R"( "requests": [{"block": 0, "warp": 0}]})";
constexpr const char* kIdleLaunch =
    R"({"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "lines": [], "requests": []})";

/// A grader that answers with these launches.
std::string grader_with(const std::string& launches, const std::string& rest = "") {
  return fmt::format(
      "cat >> \"$EVENTS\" <<'MAP'\n{{\"event\": \"map\", \"status\": \"passed\", \"error\": \"\", "
      "\"location\": null, \"findings\": [], \"launches\": [{}]{}}}\n{{\"event\": \"end\"}}\nMAP\n",
      launches, rest);
}

}  // namespace

TEST_CASE("a map is written, and the command says where and how to open it") {
  const Workbook workbook;
  workbook.set_grader(grader_with(kLaunch));
  const auto outcome = workbook.onepass("map toy/first");
  const fs::path page = workbook.root() / "build/map/toy-first.html";
  CHECK(outcome.code == 0);
  CHECK(outcome.output ==
        "The map is in build/map/toy-first.html. Open it in a browser:\n  file://" + page.string() +
            "\n");
  const std::string text = read_file(page);
  CHECK(has(text, R"("source":{"name":"exercises/01_toy/first.cu","text":"#include \u003ctoy.h)"));
  CHECK(has(text, R"("first_launch":0)"));
}

TEST_CASE("shape, type and place can be chosen, and a place may have a space in it") {
  const Workbook workbook;
  workbook.set_grader("echo \"$@\" > arguments\n" + grader_with(kLaunch));
  const std::string root = workbook.root().string();
  const auto outcome =
      workbook.onepass(fmt::format("map toy/second --rows 3 --cols 70 --dtype fp16 -o '{}/my maps/"
                                   "x.html' && cat arguments && rm arguments",
                                   root));
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "--exercise toy/second --worker"));
  CHECK(has(outcome.output, "--rows 3 --cols 70 --dtype fp16\n"));
  CHECK(has(outcome.output, "file://" + root + "/my%20maps/x.html"));
  CHECK(fs::exists(workbook.root() / "my maps/x.html"));
}

TEST_CASE("the first launch with accesses is shown first, or the one that is asked for") {
  const Workbook workbook;
  workbook.set_grader(grader_with(fmt::format("{}, {}, {}", kIdleLaunch, kLaunch, kLaunch)));
  const auto first = [&](const std::string& options) {
    CHECK(workbook
              .onepass("map toy/first -o map.html " + options + " && mv map.html " +
                       workbook.root().string())
              .code == 0);
    const std::string text = read_file(workbook.root() / "map.html");
    return text.substr(text.find("\"first_launch\":") + 15, 1);
  };
  CHECK(first("") == "1");
  CHECK(first("--launch 3") == "2");
  const auto outcome = workbook.onepass("map toy/first --launch 4");
  CHECK(outcome.code == 2);
  CHECK(outcome.output == "There are 3 launches: give --launch 1 to 3.\n");
}

TEST_CASE("bad input gets one sentence that says what to do, and exit 2") {
  const Workbook workbook;
  workbook.set_grader(grader_with(kLaunch));
  write_file(workbook.root() / "file", "");
  const std::string below_a_file = (workbook.root() / "file/map.html").string();
  const struct {
    std::string arguments;
    std::string sentence;
  } kCases[] = {
      {"map toy/fist", "There is no exercise toy/fist: did you mean toy/first?\n"},
      {"map", "Name one exercise, such as toy/first or 1.1.\n"},
      {"map toy", "Name one exercise: toy/first or toy/second.\n"},
      {"map toy/first --naive", "There is no naive version of toy/first.\n"},
      {"map toy/first --launch 2", "There is one launch: leave --launch away.\n"},
      {"map toy/first -o " + below_a_file,
       "Cannot write " + below_a_file + ": give another file with -o.\n"},
      {"map toy/first --submission /nowhere",
       "There is no folder /nowhere: give one that is laid out like exercises/.\n"},
  };
  for (const auto& one : kCases) {
    const auto outcome = workbook.onepass(one.arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == one.sentence);
  }
  CHECK(workbook.onepass("map").code == 2);
  CHECK(workbook.onepass("map toy/first --dtype fp8").code == 2);

  workbook.set_grader(
      "echo '{\"event\": \"unavailable\", \"reason\": \"No such shape.\"}' >> \"$EVENTS\"\n");
  const auto outcome = workbook.onepass("map toy/first --cols 3");
  CHECK(outcome.code == 2);
  CHECK(outcome.output == "No such shape.\n");
}

TEST_CASE("a file that does not compile: its first error, and exit 1") {
  const Workbook workbook;
  write_file(workbook.exercise("first"), "#include <toy.h>\n\nint answer() { return x; }\n");
  const auto outcome = workbook.onepass("map toy/first");
  CHECK(outcome.code == 1);
  CHECK(outcome.output == "exercises/01_toy/first.cu:3: 'x' was not declared in this scope\n");
}

TEST_CASE("nothing to draw: a sentence, exit 1, no page") {
  const Workbook workbook;
  workbook.set_grader(grader_with(""));
  auto outcome = workbook.onepass("map toy/first");
  CHECK(outcome.code == 1);
  CHECK(outcome.output ==
        "exercises/01_toy/first.cu launches no kernel: there is nothing to draw. Fill in TODO 1 "
        "first, then draw it again.\n");
  workbook.set_grader(grader_with(kIdleLaunch));
  outcome = workbook.onepass("map toy/first");
  CHECK(outcome.code == 1);
  CHECK(has(outcome.output, "The kernel in exercises/01_toy/first.cu touches no memory: there is"));
  CHECK_FALSE(fs::exists(workbook.root() / "build/map"));
}

TEST_CASE("a call that does not come to its end: what came before is drawn, and exit 1") {
  const Workbook workbook;
  const std::string failed =
      R"(, "status": "device error", "error": "x[9] is past\nits end.", "location": "first.cu:2")";
  workbook.set_grader(grader_with(kLaunch, failed));
  auto outcome = workbook.onepass("map toy/first");
  CHECK(outcome.code == 1);
  CHECK(has(outcome.output,
            "The call did not come to its end (device error): x[9] is past\nits end.\n"
            "At first.cu:2\nThe map shows what came before.\n"));
  CHECK(fs::exists(workbook.root() / "build/map/toy-first.html"));

  workbook.set_grader(grader_with("", failed));
  outcome = workbook.onepass("map toy/first -o none.html");
  CHECK(outcome.code == 1);
  CHECK(outcome.output ==
        "The call did not come to its end (device error): x[9] is past\nits end.\nAt first.cu:2\n");
  CHECK_FALSE(fs::exists("none.html"));
}

TEST_CASE("what the simulator found is told too") {
  const Workbook workbook;
  workbook.set_grader(grader_with(
      kLaunch, R"(, "findings": [{"message": "x[3] is written twice.\nDo it once."}])"));
  const auto outcome = workbook.onepass("map toy/first");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Marked in it: x[3] is written twice.\nDo it once.\n"));
}

TEST_CASE("a fault of the grader is told as one, and exit 3") {
  const Workbook workbook;
  for (const char* fault :
       {"echo 'assertion failed' >&2; exit 2", "true", "echo nonsense >> \"$EVENTS\"",
        "echo '{\"event\": \"map\", \"status\": \"ungraded\", \"error\": \"no memory\"}\n"
        "{\"event\": \"end\"}' >> \"$EVENTS\""}) {
    workbook.set_grader(fault + std::string("\n"));
    const auto outcome = workbook.onepass("map toy/first");
    CHECK(outcome.code == 3);
    CHECK(has(outcome.output, "no fault of yours"));
  }
}

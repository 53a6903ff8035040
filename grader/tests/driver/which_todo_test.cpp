// Which TODO? Files with faults, graded by `onepass grade` with experiments.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "driver/files.h"
#include "driver/report.h"
#include "driver/skeleton.h"
#include "driver/text.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;

namespace {

constexpr const char* kSolution = R"(#include <toy.h>

int tens() {
  int result = 0;
  // TODO 1: four.
  // [solution 1]
  result = 4;
  // [end]
  return result;
}

int ones() {
  int result = 0;
  // TODO 2: two.
  // [solution 2]
  result = 2;
  // [end]
  return result;
}

int answer() { return 10 * tens() + ones(); }
)";

// TODO 1 is worth 2 points, and right if the tens are; TODO 2 3 points, if the ones are.
constexpr const char* kGrader = R"sh(
echo "$@" >> "$(dirname "$0")/calls"
ls "$(dirname "$WORKER")" >> "$(dirname "$0")/seen"
"$WORKER"; answer=$?
tens=passed; [ $((answer / 10)) = 4 ] || tens=failed
ones=passed; [ $((answer % 10)) = 2 ] || ones=failed
printf '{"event":"check","name":"answers 42","status":"%s","message":"%s"}\n' \
  $tens "It answers $answer." >> "$EVENTS"
printf '{"event":"check","name":"answers always","status":"%s","message":"%s"}\n' \
  $ones "It answers $answer." >> "$EVENTS"
)sh";

struct Fixture {
  Workbook workbook;

  Fixture() {
    write_file(workbook.root() / "solutions/01_toy/first.cu", kSolution);
    workbook.set_grader(std::string(kGrader) + Workbook::kEnd);
  }

  /// Grades the skeleton with this code for its TODOs, and further changes.
  Workbook::Outcome grade(const std::string& one, const std::string& two,
                          const std::vector<std::pair<std::string, std::string>>& changes = {},
                          const std::string& options = "") const {
    std::string text = skeleton_of(kSolution, "first.cu");
    const auto replace = [&](const std::string& from, const std::string& to) {
      REQUIRE(has(text, from));
      text.replace(text.find(from), from.size(), to);
    };
    replace("four.\n", "four.\n" + one);
    replace("two.\n", "two.\n" + two);
    for (const auto& [from, to] : changes) {
      replace(from, to);
    }
    write_file(workbook.exercise("first"), text);
    return workbook.onepass("grade first --checks-only " + options);
  }

  Json exercise() const { return workbook.report("report/exercises")["exercises"][0]; }
  std::string said() const { return text(exercise(), "which_todo"); }
  /// Was any other file than the submission's graded, up to now?
  bool tried() const {
    return has(read_file(workbook.root() / "build/calls"), "build/cache/scratch-");
  }
};

constexpr const char* kFour = "result = 4;\n";
constexpr const char* kTwo = "result = 2;\n";
constexpr const char* kFive = "result = 5;\n";
constexpr const char* kSixty = "result = 60;\n";  // the tens are wrong, too

constexpr const char* kFaultInTwo =
    "The fault is in TODO 2: with the solution's code for TODO 2, everything passes. TODO 1 is "
    "right.";

}  // namespace

TEST_CASE("a fault in TODO 2 alone, which fails the checks of TODO 1: these points are given") {
  const Fixture fixture;
  const auto outcome = fixture.grade(kFour, kSixty);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "toy/first    0 of 5   failed         The first\n"));
  CHECK(has(outcome.output, fmt::format("\nWhich TODO?\n  toy/first: {} That gives 2 points "
                                        "more.\n\nScore: 2 of 5, 0 for checks that passed and "
                                        "2 for TODOs that are right\n",
                                        kFaultInTwo)));
  CHECK(has(outcome.output, "Open next: exercises/01_toy/first.cu, TODO 2\n"));
  CHECK(fixture.tried());
  const Json exercise = fixture.exercise();
  CHECK(exercise["status"] == "failed");
  CHECK(exercise["score"] == 2);
  CHECK(exercise["todos"] == Json::parse(R"([{"todo": 1, "state": "right"},
                                             {"todo": 2, "state": "wrong"}])"));
  CHECK(exercise["checks"][0]["status"] == "failed");
  CHECK(exercise["checks"][0]["granted"] == true);
  CHECK_FALSE(exercise["checks"][1].contains("granted"));
  CHECK(fixture.workbook.report("report/exercises")["complete"] == true);
}

TEST_CASE("a fault in TODO 1 alone") {
  const Fixture fixture;
  const auto outcome = fixture.grade(kFive, kTwo);
  CHECK(fixture.said() ==
        "The fault is in TODO 1: with the solution's code for TODO 1, everything passes. TODO 2 is "
        "right.");
  CHECK(has(outcome.output, "Score: 3 of 5\nOpen next: exercises/01_toy/first.cu, TODO 1\n"));
}

TEST_CASE("a fault outside the TODOs, whatever they do") {
  const Fixture fixture;
  const std::pair<std::string, std::string> unasked = {
      "return 10 * tens()", "if (tens() > 0) return 7;\n  return 10 * tens()"};
  const auto outcome = fixture.grade(kFour, kTwo, {unasked});
  const std::string outside =
      "A fault is outside the TODOs: with the solution's code for all of them, not everything "
      "passes either. Look at your code that is in no TODO, at line 17.";
  CHECK(fixture.said() == outside);
  CHECK(has(outcome.output,
            "Score: 0 of 5\nOpen next: exercises/01_toy/first.cu:17, outside the TODOs\n"));
  CHECK_FALSE(has(outcome.output, "hint"));
  CHECK(fixture.exercise()["outside_todos"] == Json::parse("[17]"));
  CHECK(fixture.exercise()["todos"][0]["state"] == "unknown");
  fixture.grade(kFive, "", {unasked});
  CHECK(fixture.said() == outside.substr(0, outside.size() - 3) + "16.");
}

TEST_CASE("code outside the TODOs that does no harm") {
  const Fixture fixture;
  const std::pair<std::string, std::string> harmless = {"return 10 * tens()",
                                                        "tens();\n  return 10 * tens()"};
  fixture.grade(kFive, "result = 3;\n", {harmless});
  CHECK(fixture.said() == "TODO 1 and TODO 2 each fail, with the solution's code for the other.");
}

TEST_CASE("faults in both") {
  const Fixture fixture;
  const auto outcome = fixture.grade(kFive, "result = 3;\n");
  CHECK(fixture.said() == "TODO 1 and TODO 2 each fail, with the solution's code for the other.");
  CHECK(has(outcome.output, "Score: 0 of 5\n"));
}

TEST_CASE("a TODO without code is not started, and needs no experiment") {
  const Fixture fixture;
  const auto outcome = fixture.grade(kFour, "// later\n");
  CHECK(has(outcome.output,
            "toy/first    2 of 5   failed         The first\n\ntoy/first\n\n"
            "  not started: TODO 2 (1 check, 3 points)\n\nScore: 2 of 5\n"));
  CHECK_FALSE(has(outcome.output, "Which TODO"));
  const Json exercise = fixture.exercise();
  CHECK(exercise["not_started"] == Json::parse("[2]"));
  CHECK(exercise["checks"][1]["status"] == "not started");
  CHECK(exercise["checks"][1]["message"] == "TODO 2 is not started.");
  CHECK_FALSE(exercise.contains("which_todo"));

  CHECK(has(fixture.grade(kFive, "").output, "Score: 0 of 5\n"));
  CHECK(fixture.said() == "");  // what its check has said is all
}

TEST_CASE("untouched, or not right in any TODO: nothing is given") {
  const Fixture fixture;
  CHECK(has(fixture.grade("", "").output, "toy/first    0 of 5   not started    The first\n\n"));
  CHECK(has(fixture.grade(";\n", ";\n").output, "Score: 0 of 5\n"));
}

TEST_CASE("layout, comments and functions of one's own do not matter") {
  const Fixture fixture;
  fixture.grade(kFour, kSixty,
                {{"  // TODO 2: two.\n", ""}, {"  // TODO 1: four.\n", "// done\n"}});
  CHECK(fixture.said() == kFaultInTwo);
  fixture.grade(kFour, kSixty,
                {{"int ones() {\n", "int\nones( )\n\n{"}, {"10 * tens()", "10*tens( )"}});
  CHECK(fixture.said() == kFaultInTwo);
  fixture.grade(
      "result = four();\n", kSixty,
      {{"\nint tens()", "\nint four() { int result = 2; return 2 * result; }\nint tens()"}});
  CHECK(fixture.said() == kFaultInTwo);
}

TEST_CASE("a given line that was changed: nothing is tried") {
  const Fixture fixture;
  const auto outcome = fixture.grade(
      kFour, kSixty, {{"int ones()", "int unit()"}, {"tens() + ones()", "tens() + unit()"}});
  CHECK_FALSE(has(outcome.output, "Which TODO"));
  CHECK(
      has(outcome.output, "Score: 0 of 5\nOpen next: exercises/01_toy/first.cu (a check of TODO"));
  CHECK_FALSE(fixture.tried());
}

TEST_CASE("nothing is said of a TODO that does not compile without another one") {
  const Fixture fixture;
  fixture.grade("const int mine = 4;\nresult = mine;\n#define MINE 60\n", "result = MINE;\n");
  CHECK(fixture.exercise()["todos"] == Json::parse(R"([{"todo": 1, "state": "right"},
                                                       {"todo": 2, "state": "unknown"}])"));
  CHECK(fixture.said() == kFaultInTwo);
  fixture.grade("result = 5;\n#define MINE 60\n", "result = MINE;\n");
  CHECK(fixture.said() == "");
}

TEST_CASE("two TODOs that are right, but do not fit together") {
  const Fixture fixture;
  const auto outcome = fixture.grade("result = 4;\n#define TWICE\n",
                                     "result = 2;\n#ifdef TWICE\nresult = 60;\n#endif\n");
  CHECK(has(fixture.said(), "Each TODO passes with the solution's code for the other, but"));
  CHECK(has(outcome.output, "Score: 0 of 5\n"));
}

TEST_CASE("a TODO that does not compile takes no points from another") {
  const Fixture fixture;
  const auto outcome = fixture.grade(kFour, "result = two;\n");
  CHECK(has(outcome.output, "first.cu:13: 'two' was not declared in this scope"));
  CHECK(
      has(outcome.output, "TODOs that are right\nOpen next: exercises/01_toy/first.cu:13, which"));
  CHECK(fixture.said() == kFaultInTwo);
}

TEST_CASE("the student's lines keep their numbers") {
  const Fixture fixture;
  fixture.grade("result =\n\n\n5;\n", "result = __LINE__ == 16 ? 2 : 3;\n");
  CHECK(has(fixture.said(), "TODO 2 is right"));
}

TEST_CASE("experiments can be left out") {
  const Fixture fixture;
  const auto outcome = fixture.grade(kFour, kSixty, {}, "--no-experiments");
  CHECK_FALSE(has(outcome.output, "Which TODO"));
  CHECK(has(outcome.output, "Score: 0 of 5\n"));
}

TEST_CASE("of the spliced files nothing is left, and a worker sees nothing beside itself") {
  const Fixture fixture;
  fixture.grade(kFour, kSixty);
  const auto build = fixture.workbook.root() / "build";
  const std::vector<std::string> seen = lines_of(read_file(build / "seen"));
  REQUIRE(seen.size() > 2);
  CHECK(seen[seen.size() - 1] == "worker");
  CHECK(seen[seen.size() - 2] == "worker");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(build / "cache")) {
    CHECK(has(entry.path().filename().string(), "toy-first"));
    ++entries;
  }
  CHECK(entries == 1);
}

TEST_CASE("on a GPU, what passes must also please the simulator") {
  const Fixture fixture;
  fixture.workbook.pretend_gpu();
  fixture.grade(kFour, kSixty);
  CHECK(fixture.said() == kFaultInTwo);
  fixture.workbook.set_grader(std::string(kGrader) + R"(
case " $* " in *" --device cpu "*)
printf '{"event":"check","name":"answers 42","status":"failed","location":"first.cu:5",' >> "$EVENTS"
printf '"message":"A race."}\n' >> "$EVENTS"
esac
)" + Workbook::kEnd);
  fixture.grade(kFour, kSixty);
  CHECK(has(fixture.said(), "each fail"));
}

TEST_CASE("the verdict does not wait for the experiments, which Ctrl-C ends") {
  const Fixture fixture;
  fixture.workbook.set_grader(R"(
case "$*" in *build/cache/scratch-*) touch "$(dirname "$0")/tried"; sleep 60;; esac
)" + std::string(kGrader) + Workbook::kEnd);
  const std::string tried = (fixture.workbook.root() / "build/tried").string();
  const auto outcome = fixture.grade(
      kFour, kSixty, {},
      fmt::format("& pid=$!; while [ ! -e {} ]; do sleep 0.1; done; kill -INT $pid; wait $pid",
                  tried));
  CHECK(outcome.code == 130);
  CHECK(has(outcome.output, "It answers 100."));
  CHECK(has(outcome.output, "Score: 0 of 5\nInterrupted: this is what was known by then.\n"));
  CHECK(fixture.workbook.report("report/exercises")["complete"] == false);
}

// `onepass measure` as a user meets it: exit codes, sentences, files. The grader is a shell script;
// what a real one says is in measure_test.cpp.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "driver/report.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTraffic =
    R"(echo '{"event":"traffic","exercise":"toy/first","rows":2,"cols":8,"dtype":"fp32","least_bytes":128,"student":{"requested_bytes":256,"distinct_bytes":128},"naive":null,"reference":null,"lines":[]}' >> "$EVENTS"
)";
constexpr const char* kSkipped =
    R"(echo '{"event":"skipped","exercise":"toy/first","rows":2,"cols":9,"dtype":"fp32","message":"No such shape."}' >> "$EVENTS"
)";
constexpr const char* kFailed =
    R"(echo '{"event":"measurement_failed","exercise":"toy/first","rows":2,"cols":10,"dtype":"fp32","message":"student: wrong"}' >> "$EVENTS"
)";
constexpr const char* kEnd = Workbook::kEnd;

}  // namespace

TEST_CASE("the grader is asked for all combinations of rows, columns and types") {
  const Workbook workbook;
  workbook.set_grader("echo \"$@\" > '" + workbook.root().string() + "/arguments'\n" + kEnd);
  CHECK(workbook.onepass("measure toy/first --rows 3,4 --cols 8:16:x2 --dtype fp16,bf16").code ==
        0);
  CHECK(has(read_file(workbook.root() / "arguments"),
            " --shape 3x8xfp16 --shape 3x16xfp16 --shape 4x8xfp16 --shape 4x16xfp16"
            " --shape 3x8xbf16 --shape 3x16xbf16 --shape 4x8xbf16 --shape 4x16xbf16\n"));
}

TEST_CASE("without a shape, what grade measures") {
  const Workbook workbook;
  workbook.set_measuring("echo \"$@\" > '" + workbook.root().string() + "/arguments'\n" + kTraffic +
                         kEnd);
  const auto outcome = workbook.onepass("measure 1.1");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output,
            "     16.00      8.00         -\n\n"
            "These are the shapes that grade measures: --rows and --cols take others.\n"));
  CHECK(has(read_file(workbook.root() / "arguments"), "--measure"));
  CHECK_FALSE(has(read_file(workbook.root() / "arguments"), "--shape"));
}

TEST_CASE("a table, a report and a plot") {
  const Workbook workbook;
  workbook.set_grader(std::string(kTraffic) + kSkipped + kEnd);
  const fs::path plot = workbook.root() / "my plots/x.svg";
  const auto outcome = workbook.onepass(
      fmt::format("measure toy/first --rows 2 --cols 8,9 --seed 5 --plot '{}'", plot.string()));
  CHECK(outcome.code == 0);
  CHECK(outcome.output ==
        "toy/first on CPU simulator, seed 5\n\n"
        "Global memory traffic, bytes per element, in sectors of 32 bytes:\n"
        "     rows     cols  dtype     least     yours  distinct     naive\n"
        "        2        8   fp32      8.00     16.00      8.00         -\n"
        "        2        9   fp32   left out: No such shape.\n\n"
        "The report is in build/measure/toy-first.json.\n"
        "The plot is in my plots/x.svg.\n");
  const Json report = workbook.report("measure/toy-first");
  CHECK(report["schema"] == 1);
  CHECK(report["complete"] == true);
  CHECK(report["seed"] == 5);
  CHECK(report["exercise"] == "toy/first");
  CHECK(report["file"] == "exercises/01_toy/first.cu");
  CHECK(report["traffic"][0]["student"]["requested_bytes"] == 256);
  CHECK(report["skipped"][0]["message"] == "No such shape.");
  CHECK_FALSE(report["compiler"].get<std::string>().empty());
  CHECK(has(read_file(plot), ">yours</text>"));
}

TEST_CASE("a kernel that fails is told in its row, and exit 1; no shape at all, and exit 2") {
  const Workbook workbook;
  workbook.set_grader(std::string(kTraffic) + kFailed + kEnd);
  const auto failed = workbook.onepass("measure toy/first --rows 2 --cols 8,10");
  CHECK(failed.code == 1);
  CHECK(has(failed.output, "        2       10   fp32   not measured: student: wrong\n"));
  workbook.set_grader(std::string(kSkipped) + kEnd);
  CHECK(workbook.onepass("measure toy/first --rows 2 --cols 9 --plot no.svg").code == 2);
  CHECK_FALSE(fs::exists("no.svg"));
}

TEST_CASE("Ctrl-C leaves what was measured") {
  const Workbook workbook;
  workbook.set_grader(std::string(kTraffic) + "sleep 60\n");
  const auto outcome = workbook.onepass(
      fmt::format("measure toy/first --rows 2 --cols 8,9 --plot {}/x.svg & pid=$!; sleep 3; "
                  "kill -INT $pid; wait $pid",
                  workbook.root().string()));
  CHECK(outcome.code == 130);
  CHECK(has(outcome.output, "Interrupted: 1 of 2 shapes are measured.\n"));
  CHECK(workbook.report("measure/toy-first")["complete"] == false);
  CHECK(has(outcome.output, "16.00      8.00         -\n"));
  CHECK(workbook.report("measure/toy-first")["traffic"].size() == 1);
  CHECK(fs::exists(workbook.root() / "x.svg"));
}

TEST_CASE("a grader that ends early is told, and what came before is kept") {
  const Workbook workbook;
  workbook.set_grader(std::string(kTraffic) + "echo oops >&2; exit 2\n");
  const auto outcome = workbook.onepass("measure toy/first --rows 2 --cols 8");
  CHECK(outcome.code == 3);
  CHECK(has(outcome.output, "no fault of yours"));
  CHECK(has(outcome.output, "oops"));
  CHECK(workbook.report("measure/toy-first")["traffic"].size() == 1);
}

TEST_CASE("bad input gets one sentence that says what to do, and exit 2") {
  const Workbook workbook;
  workbook.set_grader(std::string(kTraffic) + kEnd);
  const std::string shape = " --rows 2 --cols 8";
  write_file(workbook.root() / "file", "");
  const std::string below_a_file = (workbook.root() / "file/x").string();
  const struct {
    std::string arguments;
    std::string sentence;
  } kCases[] = {
      {"measure toy/third" + shape,
       "There is no exercise toy/third: name a chapter (toy) or an exercise, such as toy/first or "
       "1.1.\n"},
      {"measure 1" + shape, "Name one exercise: toy/first or toy/second.\n"},
      {"measure", "Name one exercise, such as toy/first or 1.1.\n"},
      {"measure toy/first --rows 2",
       "Give --rows and --cols, such as --rows 16 --cols 256:4096:x2, or no shape and no type at "
       "all to measure what grade does.\n"},
      {"measure toy/first --rows 2 --cols 8:9",
       "--cols 8:9 cannot be read: give numbers (256,512), a range start:end:step "
       "(1024:4096:1024), or doublings start:end:x2 (256:8192:x2).\n"},
      {"measure toy/first --rows 0 --cols 8", "--rows takes numbers from 1 to 2147483647.\n"},
      {"measure toy/first --rows 1:100:1 --cols 1:100:1",
       "These are 10000 shapes: take at most 1000 at once.\n"},
      {"measure toy/first --dtype fp16,fp8" + shape,
       "There is no type fp8: choose of fp32, fp16 and bf16.\n"},
      {"measure toy/first --device tpu" + shape, "There is no device tpu: choose cpu or gpu.\n"},
      {"measure toy/first --submission /nowhere" + shape,
       "There is no folder /nowhere: give one that is laid out like exercises/.\n"},
      {"measure toy/first --report " + below_a_file + shape,
       "Cannot write " + below_a_file + ": give another file with --report.\n"},
      {"measure toy/first --plot " + below_a_file + shape,
       "Cannot write " + below_a_file + ": give another file with --plot.\n"},
  };
  for (const auto& one : kCases) {
    const auto outcome = workbook.onepass(one.arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == one.sentence);
  }
}

TEST_CASE("a file that does not compile: its first error, and exit 1") {
  const Workbook workbook;
  write_file(workbook.exercise("first"), "#include <toy.h>\n\nint answer() { return x; }\n");
  const auto outcome = workbook.onepass("measure toy/first --rows 2 --cols 8");
  CHECK(outcome.code == 1);
  CHECK(outcome.output == "exercises/01_toy/first.cu:3: 'x' was not declared in this scope\n");
}

// The checks of a TODO never need a later one: of every exercise, the solution without its last
// TODOs passes the checks of those that are there, and of the others it is said that they are not
// started, whatever the function does without them. `make check` looks at TODO 1 alone.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "driver/files.h"
#include "driver/skeleton.h"
#include "process/process.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

constexpr int kMostTodos = 4;

/// The solution with the code of the first `count` TODOs; empty if it has no more.
std::string begun(const fs::path& solution, int count) {
  const Skeleton skeleton = take_apart(read_file(solution), solution.string());
  std::string text = skeleton.text;
  bool more = false;
  for (auto part = skeleton.parts.rbegin(); part != skeleton.parts.rend(); ++part) {
    more = more || part->todo > count;
    text.insert(part->place, part->todo <= count ? part->code : "");
  }
  return more ? text : "";
}

}  // namespace

TEST_CASE("the checks of the first TODOs pass, and the others are not started") {
  const fs::path solutions = fs::path(ONEPASS_SOURCE_DIR) / "solutions";
  const int most = std::getenv("ONEPASS_CHECK_ALL") == nullptr ? 1 : kMostTodos - 1;
  for (int count = 1; count <= most; ++count) {
    const ScratchFolder scratch(fs::temp_directory_path());
    const fs::path submission = scratch.path() / "submission";
    for (const auto& entry : fs::recursive_directory_iterator(solutions)) {
      const std::string text = entry.is_regular_file() ? begun(entry.path(), count) : "";
      if (!text.empty()) {
        write_file(submission / entry.path().lexically_relative(solutions), text);
      }
    }
    const fs::path report = scratch.path() / "report.json";
    const auto result =
        onepass::process::run({{std::string(ONEPASS_BINARY_DIR) + "/onepass", "grade",
                                "--submission", submission.string(), "--device", "cpu",
                                "--checks-only", "--no-nvcc", "--report", report.string()}},
                              900);
    INFO(result.output);
    REQUIRE(result.succeeded());
    const auto graded = nlohmann::json::parse(read_file(report));
    int seen = 0;
    for (const auto& exercise : graded.at("exercises")) {
      for (const auto& check : exercise.at("checks")) {
        const std::string status = check.at("status");
        if (status == "missing") {
          continue;
        }
        ++seen;
        INFO(exercise.at("id"), " ", check);
        const bool done = check.at("todo") <= count;
        CHECK((status == "passed" || (!done && status == "not started")));
      }
      CHECK_FALSE(exercise.contains("which_todo"));  // nothing has failed
    }
    CHECK(seen > 0);
  }
}

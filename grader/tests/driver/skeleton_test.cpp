// Exercises and solutions: one source is the truth.
#include "driver/skeleton.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "driver/bad_input.h"
#include "driver/files.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

TEST_CASE("marked parts go, with their marks; all else stays") {
  CHECK(skeleton_of("a\n  // [solution 1]\n  b\n  // [end]\nc\n", "f") == "a\nc\n");
  CHECK(skeleton_of("// see [solution 1] there\n", "f") == "// see [solution 1] there\n");
}

TEST_CASE("marks come in pairs") {
  CHECK_THROWS_AS(skeleton_of("// [solution 1]\n", "f"), BadInput);
  CHECK_THROWS_AS(skeleton_of("// [end]\n", "f"), BadInput);
  CHECK_THROWS_AS(skeleton_of("// [solution 1]\n// [solution 2]\n// [end]\n", "f"), BadInput);
}

TEST_CASE("every exercise is its solution without the marked parts, and each of those has a TODO") {
  const fs::path root = ONEPASS_SOURCE_DIR;
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "solutions")) {
    if (!entry.is_regular_file()) {
      continue;
    }
    ++count;
    const std::string solution = read_file(entry.path());
    const fs::path exercise =
        root / "exercises" / entry.path().lexically_relative(root / "solutions");
    INFO(exercise.string());
    REQUIRE(fs::exists(exercise));
    const std::string skeleton = read_file(exercise);
    CHECK(skeleton_of(solution, entry.path().string()) == skeleton);
    for (std::size_t mark = solution.find("// [solution "); mark != std::string::npos;
         mark = solution.find("// [solution ", mark + 1)) {
      const std::size_t number = mark + 13;
      const std::string todo =
          "TODO " + solution.substr(number, solution.find(']', number) - number);
      CHECK_MESSAGE(skeleton.find(todo + ":") != std::string::npos, todo);
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(root / "exercises")) {
    count -= entry.is_regular_file() ? 1 : 0;
  }
  CHECK_MESSAGE(count == 0, "exercises/ and solutions/ hold different numbers of files");
}

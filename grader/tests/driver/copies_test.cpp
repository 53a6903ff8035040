// What leaves the house: a student's copy of this very workbook, and Gradescope's zip of it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "driver/class/copies.h"
#include "driver/config.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/skeleton.h"
#include "driver/text.h"
#include "process/process.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
namespace fs = std::filesystem;

namespace {

const Config& config() {
  static const Config read = read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json");
  return read;
}

onepass::process::Result shell(const std::string& command) {
  return onepass::process::run({{"/bin/sh", "-c", command}}, 120);
}

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder).string()] = read_file(entry.path());
    }
  }
  return files;
}

}  // namespace

TEST_CASE("a student's copy has no code of a solution, and is one that can be built") {
  const ScratchFolder scratch(fs::temp_directory_path());
  const fs::path copy = scratch.path() / "copy";
  course::hand_out(config(), copy);
  const std::map<std::string, std::string> files = files_in(copy);
  CHECK(files.count("README.md") == 1);
  CHECK(has(files.at("README.md"), "This is a student's copy."));
  CHECK_FALSE(fs::exists(copy / "solutions"));
  CHECK_FALSE(fs::exists(copy / "grader/tests"));
  for (const Chapter& chapter : config().chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      const fs::path file = config().solution_of(chapter, exercise);
      const Skeleton skeleton = take_apart(read_file(file), file.string());
      CHECK(files.at("exercises/" + chapter.folder + "/" + exercise.file) == skeleton.text);
      const std::string& outline =
          files.at("grader/outlines/" + chapter.folder + "/" + exercise.file);
      CHECK(skeleton_of(outline, exercise.file) == skeleton.text);
      for (const MarkedPart& part : skeleton.parts) {
        for (const auto& [name, text] : files) {
          // Later exercises are given what earlier ones ask for.
          const bool given = name.find("exercises/") == 0 || name.find("grader/outlines/") == 0;
          INFO(name);
          INFO(part.code);
          CHECK_FALSE((!given && lines_of(part.code).size() > 2 && has(text, part.code)));
        }
      }
    }
  }
  const auto again =
      shell(fmt::format("'{}/onepass' handout '{}'", ONEPASS_BINARY_DIR, copy.string()));
  CHECK(again.code == 2);
  CHECK(has(again.output, "is not empty: give a new folder."));

  // The driver as it is there: no build of its own, which takes minutes.
  Json own = Json::parse(read_file(fs::path(ONEPASS_BINARY_DIR) / "onepass.json"));
  own["source"] = copy.string();
  own["build"] = (copy / "build").string();
  write_file(copy / "build/onepass.json", own.dump());
  const auto onepass = [&](const std::string& words) {
    return shell(fmt::format("'{}/onepass' --workbook '{}/build/onepass.json' {}",
                             ONEPASS_BINARY_DIR, copy.string(), words));
  };
  CHECK(has(onepass("").output, "0 of 20 exercises passed"));
  CHECK(has(onepass("diff 1.1").output, "This copy of the workbook has no solutions to show."));
  CHECK(has(onepass("reset 1.1").output, "is as it was given."));
  CHECK(onepass("handout x").code == 2);
  fs::copy_file(config().source / "solutions/01_rmsnorm/block_sum.cu",
                copy / "exercises/01_rmsnorm/block_sum.cu", fs::copy_options::overwrite_existing);
  const std::string passed = onepass("grade 1.1 --checks-only --no-nvcc").output;
  CHECK(has(passed, "All passed.\nNext: "));
  CHECK(!has(passed, "beside the solution"));
}

TEST_CASE("of a page, code that the skeleton has stays, and other code of a solution goes") {
  const fs::path file = config().source / "solutions/01_rmsnorm/block_sum.cu";
  const Skeleton skeleton = take_apart(read_file(file), file.string());
  const auto page = [](const std::string& code) {
    return "Text.\n\n<!-- quoted from solutions/01_rmsnorm/block_sum.cu -->\n```cpp\n" + code +
           "```\nMore.\n";
  };
  const std::string solved = page(skeleton.parts.front().code);
  CHECK(course::without_solutions(config(), solved) ==
        "Text.\n\n*(Here the workbook shows a part of its solution.)*\nMore.\n");
  const std::string given = page(first_line(skeleton.text) + "\n");
  CHECK(course::without_solutions(config(), given) == given);
}

TEST_CASE("Gradescope's zip makes a results.json of a submission") {
  if (!onepass::process::run({{"zip", "-h"}}, 10).succeeded() ||
      !onepass::process::run({{"unzip", "-h"}}, 10).succeeded() ||
      !fs::exists(config().chapters.front().grader)) {
    MESSAGE("no zip here, or no grader");
    return;
  }
  const ScratchFolder scratch(fs::temp_directory_path());
  const std::string root = scratch.path().string();
  write_file(scratch.path() / "policy.json", R"({"exercises": ["1.1"], "nvcc": false})");
  const auto packed =
      shell(fmt::format("'{}/onepass' gradescope {}/autograder.zip --policy {}/policy.json",
                        ONEPASS_BINARY_DIR, root, root));
  INFO(packed.output);
  REQUIRE(packed.code == 0);
  // As Gradescope lays it out, but with this build in place of setup.sh's.
  const auto graded = shell(fmt::format(
      "cd {0} && mkdir -p a/source a/submission/exercises && cd a/source && "
      "unzip -q ../../autograder.zip && sh -n setup.sh && test -x run_autograder && "
      "test -f onepass/solutions/01_rmsnorm/forward.cu && ! test -e onepass/grader/tests && "
      "ln -s '{1}' onepass/build && cp -r '{2}/exercises/01_rmsnorm' ../submission/exercises/ && "
      "sed -i 's,/tmp/,{0}/,g; s,/autograder,{0}/a,g' run_autograder && ./run_autograder",
      root, ONEPASS_BINARY_DIR, ONEPASS_SOURCE_DIR));
  INFO(graded.output);
  REQUIRE(graded.code == 0);
  const Json results = Json::parse(read_file(scratch.path() / "a/results/results.json"));
  CHECK(results["tests"].size() > 10);
  CHECK(results["score"].is_number());
}

// The words by which a user names exercises. The workbook here has no files: names need none.
#include "driver/naming.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/text.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

Chapter chapter(const std::string& name, const std::string& folder,
                const std::vector<std::string>& exercises) {
  Chapter result;
  result.name = name;
  result.folder = folder;
  for (const std::string& exercise : exercises) {
    result.exercises.push_back({name + "/" + exercise, exercise + ".cu", {}, {}});
  }
  return result;
}

Config workbook(const fs::path& source = "/workbook") {
  Config config;
  config.source = source;
  config.chapters = {chapter("rmsnorm", "01_rmsnorm", {"block_sum", "forward"}),
                     chapter("rope", "02_rope", {"forward", "half_split"})};
  return config;
}

std::string ids(const std::vector<Named>& exercises) {
  std::vector<std::string> words;
  for (const Named& one : exercises) {
    words.push_back(one.exercise->id);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// The ids that are meant, or what is said instead.
std::string meant(const Names& names, const Config& config = workbook()) {
  try {
    return ids(exercises_named(config, names));
  } catch (const BadInput& error) {
    return error.what();
  }
}

std::string the_one(const std::vector<std::string>& words) {
  const Config config = workbook();
  try {
    return exercise_named(config, {words, "", ""}).exercise->id;
  } catch (const BadInput& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("an exercise has several names") {
  for (const char* word :
       {"rmsnorm/block_sum", "1.1", "01.1", "block_sum", "block_sum.cu", "rmsnorm/block_sum.cu",
        "01_rmsnorm/block_sum", "01_rmsnorm/block_sum.cu", "exercises/01_rmsnorm/block_sum.cu",
        "./exercises/01_rmsnorm/block_sum.cu", "/workbook/exercises/01_rmsnorm/block_sum.cu"}) {
    INFO(word);
    CHECK(meant({{word}, "", ""}) == "rmsnorm/block_sum");
    CHECK(the_one({word}) == "rmsnorm/block_sum");
  }
}

TEST_CASE("a chapter means its exercises, and so does a name that several chapters have") {
  for (const char* word : {"rope", "02_rope", "2", "02", "rope/", "exercises/02_rope",
                           "exercises/02_rope/", "/workbook/exercises/02_rope"}) {
    INFO(word);
    CHECK(meant({{word}, "", ""}) == "rope/forward rope/half_split");
  }
  CHECK(meant({{"forward"}, "", ""}) == "rmsnorm/forward rope/forward");
}

TEST_CASE("several words: in the workbook's order, each exercise once; none: all") {
  CHECK(meant({{"2.2", "rmsnorm", "1.1", "half_split"}, "", ""}) ==
        "rmsnorm/block_sum rmsnorm/forward rope/half_split");
  const std::string all = "rmsnorm/block_sum rmsnorm/forward rope/forward rope/half_split";
  CHECK(meant({}) == all);
  CHECK(meant({{"exercises"}, "", ""}) == all);
}

TEST_CASE("a chapter beside the words keeps those of its own") {
  CHECK(meant({{}, "rope", ""}) == "rope/forward rope/half_split");
  CHECK(meant({{"forward"}, "2", ""}) == "rope/forward");
  CHECK(meant({{"block_sum"}, "rope", ""}) ==
        "There is no exercise block_sum in the chapter rope.");
}

TEST_CASE("a file is looked for from here, from the repository and in the submission") {
  const ScratchFolder folder(fs::temp_directory_path());
  const Config config = workbook(folder.path());
  const fs::path ada = folder.path() / "ada";
  write_file(ada / "02_rope/forward.cu", "");
  write_file(folder.path() / "exercises/01_rmsnorm/forward.cu", "");
  CHECK(meant({{"ada/02_rope/forward.cu"}, "", ada}, config) == "rope/forward");
  CHECK(meant({{"02_rope/forward.cu"}, "", ada}, config) == "rope/forward");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path() / "exercises/01_rmsnorm");
  CHECK(meant({{"forward.cu"}, "", ""}, config) == "rmsnorm/forward");
  CHECK(meant({{"."}, "", ""}, config) == "rmsnorm/block_sum rmsnorm/forward");
  CHECK(meant({{"../../ada"}, "", ""}, config) ==
        "../../ada is no exercise's file: name a chapter (rmsnorm or rope) or an exercise, such as "
        "rmsnorm/block_sum or 1.1, or give another folder, laid out like exercises/, to "
        "--submission.");
  fs::current_path(before);
}

TEST_CASE("a file that several chapters have must be told apart") {
  CHECK(meant({{"forward.cu"}, "", ""}) ==
        "forward.cu may be 01_rmsnorm/forward.cu or 02_rope/forward.cu: name one of them.");
}

TEST_CASE("a slip is answered with the nearest name, anything else with what there is") {
  const struct {
    const char* word;
    const char* nearest;
  } kSlips[] = {{"forwrd", "forward"},
                {"Block_Sum", "block_sum"},
                {"rmsnorm/forwrd", "rmsnorm/forward"},
                {"half-split", "half_split"},
                {"rmsnrm", "rmsnorm"},
                {"half_split.c", "half_split.cu"},
                {"exercises/01_rmsnorm/blck_sum.cu", "exercises/01_rmsnorm/block_sum.cu"}};
  for (const auto& slip : kSlips) {
    CHECK(meant({{slip.word}, "", ""}) ==
          fmt::format("There is no exercise {}: did you mean {}?", slip.word, slip.nearest));
  }
  for (const char* word : {"1.9", "1.x", "1."}) {
    CHECK(meant({{word}, "", ""}) ==
          fmt::format("There is no exercise {}: rmsnorm has 1.1 to 1.2.", word));
  }
  for (const char* word : {"softmax", "9", "7.2", "x", "no/such/file.cu"}) {
    CHECK(meant({{word}, "", ""}) ==
          fmt::format("There is no exercise {}: name a chapter (rmsnorm or rope) or an exercise, "
                      "such as rmsnorm/block_sum or 1.1.",
                      word));
  }
  CHECK(meant({{""}, "", ""}).rfind("There is no exercise '': name a chapter", 0) == 0);
  CHECK(meant({{}, "rop", ""}) == "There is no chapter rop: did you mean rope?");
}

TEST_CASE("where one exercise is needed, the sentence says which ones it could be") {
  CHECK(the_one({"forward"}) == "Name one exercise: rmsnorm/forward or rope/forward.");
  CHECK(the_one({"1.1", "2"}) ==
        "Name one exercise: rmsnorm/block_sum, rope/forward or rope/half_split.");
  CHECK(the_one({"1.1", "block_sum"}) == "rmsnorm/block_sum");
  CHECK(the_one({}) == "Name one exercise, such as rmsnorm/block_sum or 1.1.");
}

TEST_CASE("words for a shell") {
  CHECK(shell_word("exercises/01_rmsnorm") == "exercises/01_rmsnorm");
  CHECK(shell_word("my work") == "'my work'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
}

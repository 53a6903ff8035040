// Verdicts of earlier runs are found again, and only by all that they depend on.
#include "driver/graded.h"

#include <doctest/doctest.h>

#include "driver/files.h"
#include "driver/naming.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::Workbook;

namespace {

constexpr const char* kName = "CPU simulator";

struct Kept {
  Kept() {
    workbook.set_grader("");
    config.emplace(read_config(workbook.root() / "build/onepass.json"));
    Graded(*config, Device::cpu, kName, 1).keep(task(), {{"status", "passed"}});
  }
  Task task() const { return select_task(*config, {{"first"}, "", config->exercises()}); }
  bool is_found(const std::string& name = kName, std::uint64_t seed = 1) const {
    return Graded(*config, Device::cpu, name, seed).find(task()).has_value();
  }

  Workbook workbook;
  std::optional<Config> config;
};

}  // namespace

TEST_CASE("a verdict is found for this text, this grader, this device and this seed") {
  const Kept kept;
  REQUIRE(kept.is_found());
  CHECK(Graded(*kept.config, Device::cpu, kName, 1).find(kept.task())->at("status") == "passed");
  CHECK_FALSE(kept.is_found("another device"));
  CHECK_FALSE(kept.is_found(kName, 2));
  const std::string text = read_file(kept.workbook.exercise("first"));
  write_file(kept.workbook.exercise("first"), text + " ");
  CHECK_FALSE(kept.is_found());
  write_file(kept.workbook.exercise("first"), text);
  CHECK(kept.is_found());
}

TEST_CASE("a verdict is not found once a file of the grader has changed") {
  for (const char* file : {"build/grade-toy", "build/rewrite", "include/toy.h", "main.cpp",
                           "binding.cpp", "solutions/01_toy/first.cu"}) {
    const Kept kept;
    REQUIRE(kept.is_found());
    const auto path = kept.workbook.root() / file;
    const bool is_new = !std::filesystem::exists(path);
    write_file(path, (is_new ? "" : read_file(path)) + "\n");
    INFO(file);
    CHECK_FALSE(kept.is_found());
  }
}

TEST_CASE("what is ungraded is not kept") {
  const Kept kept;
  const Graded graded(*kept.config, Device::cpu, kName, 7);
  graded.keep(kept.task(), {{"status", "ungraded"}});
  CHECK_FALSE(graded.find(kept.task()));
}

TEST_CASE("grade keeps what it finds, but not if it was asked to find less") {
  const Kept kept;
  kept.workbook.set_measuring(Workbook::kEnd);
  kept.workbook.onepass("grade first --seed 3 --time-limit 9");
  kept.workbook.onepass("grade first --seed 4 --until failure");
  CHECK(kept.workbook.onepass("grade first --seed 5").code == 0);
  // The grader is another since, and the program that asks is another than the one that has kept
  // it.
  CHECK_FALSE(kept.is_found(kName, 5));
  int entries = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(kept.workbook.root() / "build/graded")) {
    entries += entry.path().filename().string().rfind("cpu-toy-first-", 0) == 0 ? 1 : 0;
  }
  CHECK(entries == 2);  // that of Kept, and of seed 5
}

// A workbook that is not where cmake has configured it, and files that are not there.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "driver/files.h"
#include "process/process.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::Workbook;

TEST_CASE("a workbook that was moved or copied says so, and every command refuses to work there") {
  const Workbook workbook;
  const ScratchFolder scratch(std::filesystem::temp_directory_path());
  const std::filesystem::path copy = scratch.path() / "new place";
  std::filesystem::copy(workbook.root(), copy, std::filesystem::copy_options::recursive);
  const std::string sentence = fmt::format(
      "This workbook was moved or copied from {} to {}. Type make -C build -j2 to set it up here: "
      "your exercises and what you have passed stay as they are.\n",
      workbook.root().string(), copy.string());
  const std::string before = read_file(copy / "exercises/01_toy/first.cu");
  const auto refuses = [&](const std::string& command) {
    const onepass::process::Result outcome =
        onepass::process::run({{"/bin/sh", "-c",
                                fmt::format("'{}/onepass' --workbook '{}/build/onepass.json' {}",
                                            ONEPASS_BINARY_DIR, copy.string(), command)}},
                              300);
    INFO(command);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == sentence);
  };
  for (const char* command : {"", "grade", "grade 1.1", "watch", "hint", "list", "reset 1.1",
                              "map 1.1", "library", "no-such-command"}) {
    refuses(command);
  }
  std::filesystem::rename(workbook.root() / "build", scratch.path() / "build");
  refuses("grade");
  CHECK(read_file(copy / "exercises/01_toy/first.cu") == before);
  CHECK(!std::filesystem::exists(copy / "build/report"));
}

TEST_CASE("a build folder whose workbook is gone says so") {
  const Workbook workbook;
  workbook.edit_config("\"source\": \"" + workbook.root().string(), "\"source\": \"/nowhere");
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 2);
  CHECK(outcome.output ==
        "This program was built for the workbook in /nowhere, which is not there any more. Type "
        "cmake -B build && make -C build -j2 in the folder where the workbook is now.\n");
}

TEST_CASE("a link that leads nowhere is not called missing") {
  const Workbook workbook;
  std::filesystem::rename(workbook.exercise("first"), workbook.root() / "elsewhere.cu");
  std::filesystem::create_symlink("nowhere.cu", workbook.exercise("first"));
  const auto outcome = workbook.onepass("grade first");
  CHECK(outcome.code == 2);
  CHECK(outcome.output ==
        "exercises/01_toy/first.cu is a link that leads to no file: put the file itself there.\n");
}

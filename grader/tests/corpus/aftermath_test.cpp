#include "tests/corpus/aftermath.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "driver/files.h"

namespace fs = std::filesystem;
using onepass::corpus::difference;
using onepass::corpus::Files;
using onepass::corpus::files_below;

TEST_CASE("what a program leaves behind is seen") {
  const onepass::driver::ScratchFolder scratch(fs::temp_directory_path());
  const fs::path folder = scratch.path() / "files", log = scratch.path() / "log";
  onepass::driver::write_file(folder / "kept", "");
  onepass::driver::write_file(folder / "opened", "");
  const Files before = files_below(folder);
  const auto left = [&](const std::string& program) {
    CHECK(onepass::corpus::run_as_a_shell({"sh", "-c", "cd " + folder.string() + "; " + program},
                                          log, 10) == 0);
    return onepass::corpus::count_leftovers();
  };
  CHECK(left("true") == 0);
  CHECK(difference(before, files_below(folder)).empty());
  CHECK(left("setsid sleep 60 & chmod 777 opened; touch new") == 1);
  CHECK(difference(before, files_below(folder)) ==
        fmt::format("changed: {0}/opened\nadded: {0}/new\n", folder.string()));
}

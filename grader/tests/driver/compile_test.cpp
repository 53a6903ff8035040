// All that the workbook ships compiles without a warning on every device there is a compiler for:
// the untouched exercises, the solutions and the naive versions. (The driver shows no warnings to a
// student, whose file is compiled with the same flags throughout.)
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "driver/build.h"
#include "driver/config.h"
#include "driver/files.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

/// nvcc takes long: unless ONEPASS_CHECK_ALL is set it compiles the solutions only, of which the
/// exercises are a part, and for one architecture.
bool whole() {
  return std::getenv("ONEPASS_CHECK_ALL") != nullptr;
}

void leave_one_architecture(Toolchain& toolchain) {
  std::vector<std::string>& flags = toolchain.compile_flags;
  const auto is_architecture = [](const std::string& flag) {
    return flag.rfind("-gencode", 0) == 0;
  };
  const auto first = std::find_if(flags.begin(), flags.end(), is_architecture);
  if (first != flags.end()) {
    flags.erase(std::remove_if(first + 1, flags.end(), is_architecture), flags.end());
  }
}

void compile_all(const Config& config, Device device, const std::vector<std::string>& folders,
                 bool naive) {
  const Builder builder(config, device);
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      std::vector<fs::path> files;
      for (const std::string& folder : folders) {
        files.push_back(config.source / folder / chapter.folder / exercise.file);
      }
      if (naive && !exercise.naive.empty()) {
        files.push_back(exercise.naive);
      }
      for (const fs::path& file : files) {
        INFO(device_name(device) << " " << file.string());
        const BuildResult result = builder.build(own_file(config, exercise, file));
        CHECK_MESSAGE(!result.error, result.error->location << ": " << result.error->message);
        CHECK(result.warnings == "");
      }
    }
  }
}

Config config() {
  return read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json");
}

}  // namespace

TEST_CASE("all that is shipped compiles without a warning, device cpu") {
  compile_all(config(), Device::cpu, {"exercises", "solutions"}, true);
}

TEST_CASE("all that is shipped compiles without a warning, device gpu") {
  Config workbook = config();
  if (!workbook.gpu) {
    MESSAGE("There is no CUDA toolkit: nothing was compiled for a GPU.");
  } else if (whole()) {
    compile_all(workbook, Device::gpu, {"solutions"}, true);
    // What a skeleton declares is for its TODOs to use: no word of a variable that is not (177).
    workbook.gpu->compile_flags.push_back("-diag-suppress=177");
    compile_all(workbook, Device::gpu, {"exercises"}, false);
  } else {
    leave_one_architecture(*workbook.gpu);
    compile_all(workbook, Device::gpu, {"solutions"}, false);
  }
}

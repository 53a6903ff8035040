// All that the workbook ships compiles without a warning on every device there is a compiler for:
// the untouched exercises, the solutions and the naive versions.
#include <doctest/doctest.h>

#include <filesystem>
#include <vector>

#include "driver/build.h"
#include "driver/config.h"
#include "driver/files.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

void compile_all(const Config& config, Device device) {
  const Builder builder(config, device);
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      std::vector<fs::path> files;
      for (const char* folder : {"exercises", "solutions"}) {
        files.push_back(config.source / folder / chapter.folder / exercise.file);
      }
      if (exercise.naive) {
        files.push_back(*exercise.naive);
      }
      for (const fs::path& file : files) {
        INFO(device_name(device) << " " << file.string());
        const BuildResult result =
            builder.build({exercise.id, file, shown_path(file, config.source), exercise.binding});
        CHECK_MESSAGE(!result.error, result.error->location << ": " << result.error->message);
        CHECK(result.warnings == "");
      }
    }
  }
}

}  // namespace

TEST_CASE("all that is shipped compiles without a warning") {
  const Config config = read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json");
  compile_all(config, Device::cpu);
  if (config.gpu) {
    compile_all(config, Device::gpu);
  }
}

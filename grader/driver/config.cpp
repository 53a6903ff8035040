#include "driver/config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Exercise, id, file, binding, naive)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Chapter, name, folder, grader, exercises)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Toolchain, compiler, rewriter, compile_flags, link_flags, inputs,
                                   allowed)

const char* device_name(Device device) {
  return device == Device::cpu ? "cpu" : "gpu";
}

namespace {

// All paths are absolute, so with those of another place its files would be graded, or none.
void require_in_place(const Config& config, const fs::path& file) {
  const fs::path here = plain(file).parent_path();
  std::error_code error;
  if (!fs::equivalent(here, config.build, error)) {
    const fs::path root = plain(here / config.source.lexically_relative(config.build));
    const std::string build = shell_word(shown_path(here, root));
    const std::string command = fs::exists(here / "build.ninja", error)
                                    ? fmt::format("cmake -P {0}/moved.cmake && ninja -C {0}", build)
                                    : fmt::format("make -C {} -j2", build);
    throw BadInput(fmt::format(
        "This workbook was moved or copied from {} to {}. Type {} to set it up here: your "
        "exercises and what you have passed stay as they are.",
        config.source.string(), root.string(), command));
  }
  if (!fs::is_directory(config.source, error)) {
    throw BadInput(fmt::format(
        "This program was built for the workbook in {}, which is not there any more. Type cmake -B "
        "build && make -C build -j2 in the folder where the workbook is now.",
        config.source.string()));
  }
}

}  // namespace

Config read_config(const fs::path& file) {
  try {
    const auto root = nlohmann::json::parse(read_file(file));
    Config config;
    root.at("source").get_to(config.source);
    root.at("build").get_to(config.build);
    root.at("chapters").get_to(config.chapters);
    root.at("cpu").get_to(config.cpu);
    for (auto [name, toolchain] : {std::pair{"gpu", &config.gpu}, {"gpu_code", &config.gpu_code}}) {
      if (!root.at(name).is_null()) {
        *toolchain = root.at(name).get<Toolchain>();
      }
    }
    root.at("gpu_reason").get_to(config.gpu_reason);
    require_in_place(config, file);
    return config;
  } catch (const nlohmann::json::exception& error) {
    throw GraderFault(
        fmt::format("{} is damaged ({}). Run cmake again.", file.string(), error.what()));
  }
}

std::string program_of(const Config& config) {
  return shell_word(shown_path(config.build / "onepass", config.source));
}

fs::path program_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace onepass::driver

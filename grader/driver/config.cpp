#include "driver/config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/bad_input.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Exercise, id, file, binding, naive)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Chapter, name, folder, grader, exercises)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Toolchain, compiler, rewriter, compile_flags, link_flags, inputs,
                                   allowed)

const char* device_name(Device device) {
  return device == Device::cpu ? "cpu" : "gpu";
}

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
    return config;
  } catch (const nlohmann::json::exception& error) {
    throw GraderFault(
        fmt::format("{} is damaged ({}). Run cmake again.", file.string(), error.what()));
  }
}

fs::path program_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace onepass::driver

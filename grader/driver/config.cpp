#include "driver/config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/bad_input.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<fs::path> paths(const json& list) {
  std::vector<fs::path> result;
  for (const json& item : list) {
    result.emplace_back(item.get<std::string>());
  }
  return result;
}

Toolchain read_toolchain(const json& entry) {
  Toolchain toolchain;
  toolchain.compiler = entry.at("compiler").get<std::string>();
  toolchain.rewriter = entry.value("rewriter", "");
  toolchain.compile_flags = entry.at("compile_flags").get<std::vector<std::string>>();
  toolchain.link_flags = entry.at("link_flags").get<std::vector<std::string>>();
  toolchain.libraries = paths(entry.at("libraries"));
  toolchain.headers = paths(entry.at("headers"));
  toolchain.allowed = paths(entry.at("allowed"));
  return toolchain;
}

Chapter read_chapter(const json& entry) {
  Chapter chapter;
  chapter.name = entry.at("name");
  chapter.folder = entry.at("folder");
  chapter.docs = entry.at("docs");
  chapter.grader = entry.at("grader").get<std::string>();
  for (const json& item : entry.at("exercises")) {
    Exercise exercise;
    exercise.id = item.at("id");
    exercise.file = item.at("file");
    exercise.binding = item.at("binding").get<std::string>();
    if (!item.at("naive").is_null()) {
      exercise.naive = item.at("naive").get<std::string>();
    }
    chapter.exercises.push_back(exercise);
  }
  return chapter;
}

}  // namespace

const char* device_name(Device device) {
  return device == Device::cpu ? "cpu" : "gpu";
}

Config read_config(const fs::path& file) {
  try {
    const json root = json::parse(read_file(file));
    Config config;
    config.source = root.at("source").get<std::string>();
    config.build = root.at("build").get<std::string>();
    for (const json& entry : root.at("chapters")) {
      config.chapters.push_back(read_chapter(entry));
    }
    config.cpu = read_toolchain(root.at("cpu"));
    if (!root.at("gpu").is_null()) {
      config.gpu = read_toolchain(root.at("gpu"));
    }
    config.gpu_present = root.at("gpu_present");
    config.gpu_reason = root.at("gpu_reason");
    return config;
  } catch (const json::exception& error) {
    throw GraderFault(
        fmt::format("{} is damaged ({}). Run cmake again.", file.string(), error.what()));
  }
}

fs::path program_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace onepass::driver

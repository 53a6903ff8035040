#include "driver/graded.h"

#include <fmt/format.h>

#include <vector>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/files.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

constexpr const char* kExercise = "exercise.json";

}  // namespace

// The simulator has a say about what a GPU found right, and nvcc about what the simulator did.
Graded::Graded(const Config& config, Device device, const std::string& device_name,
               std::uint64_t seed)
    : config_(config),
      label_(driver::device_name(device)),
      recipe_(fmt::format("{}\nseed {}\n{}\n{}", device_name, seed,
                          fingerprint_of_files({"/proc/self/exe"}), describe(config.cpu))) {
  const std::optional<Toolchain>& other = device == Device::gpu ? config.gpu : config.gpu_code;
  recipe_ += other ? describe(*other) : "";
}

CacheEntry Graded::entry_of(const Task& task) const {
  const Exercise& exercise = *task.exercise;
  std::vector<fs::path> files = {task.chapter->grader, exercise.binding};
  std::error_code error;
  for (const fs::path& file : {config_.solution_of(*task.chapter, exercise), exercise.naive}) {
    if (fs::exists(file, error)) {
      files.push_back(file);
    }
  }
  return {config_.build / "graded", fmt::format("{}-{}", label_, file_name_of(exercise.id)),
          fmt::format("{}{}\n{}", recipe_, fingerprint_of_files(files), task.source)};
}

std::optional<Json> Graded::find(const Task& task) const {
  const CacheEntry entry = entry_of(task);
  if (!task.missing.empty() || !entry.holds_key()) {
    return std::nullopt;
  }
  return Json::parse(read_file(entry.folder() / kExercise));
}

void Graded::keep(const Task& task, const Json& exercise) const {
  if (!task.missing.empty() || text(exercise, "status") == "ungraded" || find(task)) {
    return;
  }
  const ScratchFolder scratch(config_.build / "graded");
  const fs::path folder = scratch.path() / "entry";
  write_file(folder / kExercise, exercise.dump(-1, ' ', false, Json::error_handler_t::replace));
  entry_of(task).put(folder);
}

}  // namespace onepass::driver

#include "driver/class/container.h"

#include <fmt/format.h>
#include <unistd.h>

#include "driver/bad_input.h"
#include "driver/class/archive.h"
#include "driver/files.h"
#include "driver/printable.h"
#include "driver/report.h"
#include "process/process.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

// Of all files of a submission: each check has its own limits. That of a worker is 4 GB of memory.
constexpr double kMostSeconds = 3600;
constexpr const char* kMemory = "8g";
constexpr const char* kTasks = "4096";

// The engines' own syntax has no way to write these.
void require_plain(const fs::path& path) {
  if (path.string().find_first_of(",:\"\n") != std::string::npos) {
    throw BadInput(
        fmt::format("A container cannot be given {}: use folders without a comma, colon or quote "
                    "in their names.",
                    printable_line(path.string())));
  }
}

std::string mount(const fs::path& from, const fs::path& to, bool read_only) {
  require_plain(from);
  return fmt::format("--mount=type=bind,source={},target={}{}", from.string(), to.string(),
                     read_only ? ",readonly" : "");
}

// What the policy says of grading; points and what students see are the outer command's.
Json policy_json(const Policy& policy) {
  Json json = {{"seeds", policy.seeds},
               {"measure", policy.measure},
               {"experiments", policy.experiments},
               {"nvcc", policy.nvcc},
               {"require_confinement", policy.require_confinement}};
  if (!policy.exercises.empty()) {
    json["exercises"] = policy.exercises;
  }
  if (policy.launch_seconds) {
    json["launch_seconds"] = *policy.launch_seconds;
  }
  return json;
}

}  // namespace

std::string container_engine() {
  for (const char* engine : {"podman", "docker"}) {
    if (!process::program_on_path(engine).empty()) {
      return engine;
    }
  }
  throw BadInput(
      "There is neither podman nor docker: install one, or leave out --container. Without it "
      "submissions are confined too.");
}

// The workbook lies where it lies outside, so that it is the same one. It may not be written to,
// but for the cache, which is the container's own, in memory.
std::vector<std::string> container_command(const Container& container, const Config& config,
                                           Device device) {
  require_plain(config.build);
  std::vector<std::string> command = {
      container.engine,
      "run",
      "--rm",
      "--network=none",
      "--read-only",
      "--cap-drop=ALL",
      "--security-opt=no-new-privileges",
      fmt::format("--pids-limit={}", kTasks),
      fmt::format("--memory={}", kMemory),
      "--tmpfs=/tmp:rw,exec,size=1g",
      fmt::format("--tmpfs={}/cache:rw,exec,size=2g", config.build.string()),
      mount(config.source, config.source, true)};
  if (container.engine == "docker") {  // podman's root is us, outside
    command.push_back(fmt::format("--user={}:{}", getuid(), getgid()));
  }
  if (device == Device::gpu) {
    command.push_back(container.engine == "docker" ? "--gpus=all" : "--device=nvidia.com/gpu=all");
  }
  if (config.build.lexically_relative(config.source).string().rfind("..", 0) == 0) {
    command.push_back(mount(config.build, config.build, true));
  }
  const std::vector<std::string> rest = {
      mount(container.folder / "in", "/in", true),
      mount(container.folder / "policy.json", "/policy.json", true),
      mount(container.folder / "out", "/out", false),
      container.image,
      (config.build / "onepass").string(),
      "class",
      "/in",
      "--out=/out",
      "--policy=/policy.json",
      "--jobs=1",
      fmt::format("--device={}", device_name(device))};
  command.insert(command.end(), rest.begin(), rest.end());
  return command;
}

std::optional<std::string> grade_in_container(const Container& container, const Config& config,
                                              const Policy& policy, Device device,
                                              const Submission& submission) {
  std::error_code error;
  fs::remove_all(container.folder / "in", error);
  fs::create_directories(container.folder / "in/submission", error);
  fs::create_directories(container.folder / "out", error);
  fs::create_directories(config.build / "cache", error);
  for (const Task& task : submission.tasks) {
    if (task.missing.empty()) {
      write_file(container.folder / "in/submission" / task.shown, task.source);
    }
  }
  write_file(container.folder / "policy.json", policy_json(policy).dump() + "\n");
  const process::Result result =
      process::run({container_command(container, config, device)}, kMostSeconds);
  if (result.end == process::Result::End::interrupted) {
    throw GraderFault("Interrupted.");
  }
  constexpr std::size_t kTold = 2000;
  const std::string said = printable(result.output);
  return result.succeeded()
             ? std::nullopt
             : std::optional(fmt::format("{} {}.\n{}", container.engine, result.describe(),
                                         said.substr(said.size() - std::min(said.size(), kTold))));
}

bool is_report_of(const Json& report, const wire::ExerciseInfo& info) {
  const Json& exercise = report.at("exercises").at(0);
  const Json& checks = exercise.at("checks");
  bool sound = exercise.at("id") == info.id && checks.size() == info.checks.size();
  for (std::size_t i = 0; sound && i < info.checks.size(); ++i) {
    sound = checks[i].at("name") == info.checks[i].name &&
            checks[i].at("points") == info.checks[i].points &&
            checks[i].at("todo") == info.checks[i].todo && checks[i].at("status").is_string();
  }
  return sound;
}

}  // namespace onepass::driver::course

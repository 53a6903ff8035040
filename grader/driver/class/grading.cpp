#include "driver/class/grading.h"

#include <fmt/format.h>

#include <vector>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/cache.h"
#include "driver/files.h"
#include "driver/grader.h"
#include "driver/run.h"
#include "driver/skeleton.h"
#include "driver/text.h"
#include "process/interrupt.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

// Contents and flags, for wherever the workbook lies its verdicts are the same.
std::string fingerprint_of_workbook(const Config& config, const Policy& policy, Device device,
                                    const Chapter& chapter, const Exercise& exercise) {
  std::vector<fs::path> files = config.toolchain(device).inputs;
  files.push_back(chapter.grader);
  files.push_back(exercise.binding);
  std::string flags = fmt::format("{}", fmt::join(config.toolchain(device).compile_flags, " "));
  if (device == Device::cpu && policy.nvcc && config.gpu_code) {
    flags += fmt::format(" {}", fmt::join(config.gpu_code->compile_flags, " "));
  }
  std::error_code error;
  for (const fs::path& file : {config.solution_of(chapter, exercise), exercise.naive}) {
    if (fs::exists(file, error)) {
      files.push_back(file);
    }
  }
  return fingerprint(flags + fingerprint_of_files(files));
}

// The lines without what stands around them, and without their numbers: what they compute is the
// same, wherever they lie. A text that may ask where that is stays as it is.
std::string as_laid_out_nowhere(const std::string& source) {
  if (source.find("__LINE__") != std::string::npos || source.find("\\\n") != std::string::npos ||
      source.find("R\"") != std::string::npos) {
    return source;
  }
  std::string lines;
  for (const std::string& line : lines_of(source)) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos && line.compare(begin, 6, "#line ") != 0) {
      lines += line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin) + "\n";
    }
  }
  return lines;
}

bool same_shape(const Json& a, const Json& b) {
  return a.value("rows", Json()) == b.value("rows", Json()) &&
         a.value("cols", Json()) == b.value("cols", Json()) &&
         a.value("dtype", Json()) == b.value("dtype", Json());
}

}  // namespace

Grading::Grading(const Config& config, const Policy& policy, Device device, const Store& store)
    : config_(config), policy_(policy), device_(device), store_(store) {
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      workbook_[exercise.id] = fingerprint_of_workbook(config, policy, device, chapter, exercise);
    }
  }
}

Key Grading::key_of(const Task& task, std::uint64_t seed) const {
  const bool measures = policy_.measure && seed == policy_.seeds.front();
  Json settings = {{"exercise", task.exercise->id},
                   {"device", device_name(device_)},
                   {"seed", seed},
                   {"launch_seconds", nullptr},
                   {"measure", measures},
                   {"experiments", policy_.experiments},
                   {"nvcc", policy_.nvcc},
                   {"workbook", workbook_.at(task.exercise->id)}};
  if (policy_.launch_seconds) {
    settings["launch_seconds"] = *policy_.launch_seconds;
  }
  return {file_name_of(task.exercise->id), std::move(settings), task.source};
}

// What one student has in a TODO, many have; most often it is what the solution has.
KnownTrials Grading::trials_of(std::uint64_t seed) const {
  const auto trial_key = [this, seed](const Task& task) {
    Task anywhere = task;
    anywhere.source = as_laid_out_nowhere(task.source);
    Key key = key_of(anywhere, seed);
    key.label += "-trial";
    return key;
  };
  return {[this, trial_key](const Task& task) -> std::optional<bool> {
            const std::optional<Json> known = store_.load(trial_key(task));
            return known ? std::optional(known->at("passes").get<bool>()) : std::nullopt;
          },
          [this, trial_key](const Task& task, bool passes) {
            store_.save(trial_key(task), {{"passes", passes}});
          }};
}

GradeOptions Grading::options_for(std::uint64_t seed) const {
  GradeOptions options;
  options.names.submission = "submission";  // whose, does not matter
  options.seed = seed;
  options.device = device_name(device_);
  options.checks_only = !policy_.measure || seed != policy_.seeds.front();
  options.experiments = policy_.experiments;
  options.nvcc = policy_.nvcc;
  options.time_limit = policy_.launch_seconds;
  options.jobs = 1;
  options.alone = true;
  return options;
}

Json Grading::grade(const Task& task, std::uint64_t seed) {
  const GradeOptions options = options_for(seed);
  Run run(config_, {task}, options, device_);
  run.work();
  if (device_ == Device::cpu) {
    run.count_traffic();
  }
  run.share_trials(trials_of(seed));
  run.experiment();
  run.add_gpu_code();
  run.finish();
  Json report = run.report();
  if (report["complete"] == false) {
    throw GraderFault("Interrupted.");
  }
  Json& exercise = report["exercises"][0];
  for (Json& check : exercise["checks"]) {
    check.erase("replay");  // of nobody's submission
  }
  add_what_others_move(task, seed, exercise);
  if (exercise["status"] != "ungraded" && !report.contains("gpu_code")) {
    store_.save(key_of(task, seed), report);
  }
  return report;
}

void Grading::add_what_others_move(const Task& task, std::uint64_t seed, Json& exercise) {
  if (device_ != Device::cpu || exercise["traffic"].empty()) {
    return;
  }
  for (const Json& theirs : what_others_move(task, seed)) {
    for (Json& entry : exercise["traffic"]) {
      if (same_shape(entry, theirs)) {
        entry["naive"] = theirs.at("naive");
        entry["reference"] = theirs.at("student");  // it was in the student's place
      }
    }
  }
}

// A second thread that needs the same one waits for it.
const Json& Grading::what_others_move(const Task& task, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  const std::string& id = task.exercise->id;
  if (const auto found = others_.find(id); found != others_.end()) {
    return found->second;
  }
  Task nobody = task;
  nobody.source.clear();
  Key key = key_of(nobody, seed);
  key.label += "-others";
  std::optional<Json> counted = store_.load(key);
  if (!counted) {
    counted = count_what_others_move(task, seed);
    store_.save(key, *counted);
  }
  return others_[id] = std::move(*counted);
}

Json Grading::count_what_others_move(const Task& task, std::uint64_t seed) const {
  Json traffic = Json::array();
  const fs::path solution = config_.solution_of(*task.chapter, *task.exercise);
  std::error_code error;
  if (!config_.has_solutions() || !fs::exists(solution, error)) {
    return traffic;
  }
  const Builder builder(config_, device_);
  GraderRun run;
  run.chapter = task.chapter;
  run.exercise = task.exercise->id;
  run.device = device_;
  run.seed = seed;
  run.measure = true;
  run.worker = builder.build_own(*task.exercise, solution);
  if (fs::exists(task.exercise->naive, error)) {
    run.naive = builder.build_own(*task.exercise, task.exercise->naive);
  }
  const auto fault = run_grader(run, [&](const Json& event) {
    if (event.at("event") == "traffic") {
      traffic.push_back(event);
    }
  });
  if (fault) {
    throw GraderFault(*fault);
  }
  return traffic;
}

}  // namespace onepass::driver::course

#include "driver/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/parallel.h"
#include "driver/printable.h"
#include "driver/skeleton.h"
#include "driver/tell_apart.h"
#include "driver/text.h"
#include "process/interrupt.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kExplained = 6;  // failed checks of an exercise that the simulator looks at

std::size_t idle_beside(std::size_t busy, std::size_t threads) {
  return threads - std::min(busy, threads);
}

bool is_failure(const std::string& status) {
  return status != "passed" && status != "not started" && status != "ungraded";
}

}  // namespace

Run::Run(const Config& config, const std::vector<Task>& tasks, const GradeOptions& options,
         Device device)
    : config_(config),
      options_(options),
      device_(device),
      builder_(config, device, tasks.size() == 1 ? threads() : 1),
      report_(make_report(device, device == Device::cpu ? kSimulatorName : "GPU", options.seed)),
      progress_(!options.alone) {
  if (options.alone) {
    workers_.emplace(config.build / "cache");
  }
  for (const Task& task : tasks) {
    items_.push_back({task, {}, {}, {}, {}, {}, {}, {}});
  }
  report_["confinement"] = confinement_report(process::layers());
  save();
}

std::size_t Run::threads() const {
  return options_.jobs > 0 ? options_.jobs : processors();
}

void Run::work() {
  list();
  if (device_ == Device::gpu) {
    work_on_gpu();
  } else {
    parallel_for(items_.size(), threads(), [this](std::size_t index) { build(index); });
    find_gpu_code();
    begin_gpu_code(idle_beside(items_.size() * at_once(), threads()));
    parallel_for(items_.size(), threads(), [this](std::size_t index) { grade(index); });
  }
  progress_.show("");
  add_known_gpu_code();
}

// One exercise at a time is on the GPU. Meanwhile processors compile others, and the simulator is
// asked about those that have been there. Of many processors some are left to what a check times;
// the rest is measured when nothing else goes on.
void Run::work_on_gpu() {
  parallel_for(items_.size(), threads() - threads() / 8, [this](std::size_t index) {
    build(index);
    {
      const std::lock_guard turn(gpu_);
      grade(index);
    }
    ask_simulator(index);
    build_what_to_measure_beside(index);
  });
  measure();
}

void Run::count_traffic() {
  if (device_ == Device::cpu) {
    measure();
    progress_.show("");
  }
}

void Run::measure() {
  parallel_for(items_.size(), threads(),
               [this](std::size_t index) { build_what_to_measure_beside(index); });
  begin_gpu_code(idle_beside(items_.size(), threads()));
  // Two kernels at once on one GPU would spoil each other's times.
  parallel_for(items_.size(), device_ == Device::cpu ? threads() : 1,
               [this](std::size_t index) { measure(index); });
}

void Run::finish() {
  progress_.show("");
  report_["complete"] = !process::interrupted();
  save(true);
}

void Run::list() {
  const Chapter* chapter = nullptr;  // of which `listed` is
  std::vector<wire::ExerciseInfo> listed;
  for (const Item& item : items_) {
    if (item.task.chapter != chapter) {
      chapter = item.task.chapter;
      listed = list_exercises(*chapter);
    }
    const std::string& id = item.task.exercise->id;
    const auto found = std::find_if(listed.begin(), listed.end(),
                                    [&](const wire::ExerciseInfo& one) { return one.id == id; });
    if (found == listed.end()) {
      throw GraderFault(fmt::format("{} has no checks for {}.", chapter->grader.string(), id));
    }
    report_["exercises"].push_back(make_exercise(*found, item.task.shown));
  }
  settle(report_);
  save();
}

void Run::build(std::size_t index) {
  if (process::interrupted()) {
    return;
  }
  try {
    build_theirs(index);
  } catch (const BadInput&) {
    throw;
  } catch (const std::exception& fault) {
    if (process::interrupted()) {
      throw;
    }
    const std::string why = printable(fault.what());
    update(index, [&](Json& exercise) { exercise["fault"] = why; });
  }
}

void Run::build_theirs(std::size_t index) {
  Item& item = items_[index];
  const Task& task = item.task;
  if (!task.missing.empty()) {
    update(index, [&](Json& exercise) { set_all_checks(exercise, "missing", task.missing, ""); });
    return;
  }
  progress_.show(fmt::format("compiling {}", task.shown));
  BuildResult result;
  parallel_for(2, 2, [&](std::size_t which) {
    if (which == 0) {
      result = workers_ ? builder_.build_once(task, workers_->path()) : builder_.build(task);
    } else {
      find_places(item);
    }
  });
  if (result.error) {
    update(index, [&](Json& exercise) {
      set_all_checks(exercise, "compile error", result.error->message, result.error->location);
    });
    return;
  }
  if (device_ == Device::gpu) {
    build_trusted(item);
  }
  item.worker = result.worker;
}

// One calls no kernel: it needs no trusted one to be told from the machine, and no GPU's compiler.
bool Run::is_untouched(const Task& task) const {
  const fs::path solution = solution_of(task);
  return fs::exists(solution) && task.source == skeleton_of(read_file(solution), solution.string());
}

void Run::find_places(Item& item) const {
  const fs::path solution = solution_of(item.task);
  if (fs::exists(solution)) {
    item.places =
        driver::find_places(take_apart(read_file(solution), solution.string()), item.task.source);
  }
}

// On a GPU a worker that can be trusted tells whether the device still works.
void Run::build_trusted(Item& item) const {
  const fs::path solution = solution_of(item.task);
  if (!config_.has_solutions() || !fs::exists(solution)) {
    build_own(item, item.task.exercise->naive, item.naive);
  } else if (!is_untouched(item.task)) {
    build_own(item, solution, item.reference);
  }
}

// They are compiled only for an exercise that has passed: most users of a fresh clone need none.
void Run::build_what_to_measure_beside(std::size_t index) {
  if (is_to_measure(index) && !(options_.alone && device_ == Device::cpu)) {
    Item& item = items_[index];
    progress_.show(fmt::format("compiling what {} is measured beside", item.task.exercise->id));
    build_own(item, item.task.exercise->naive, item.naive);
    if (config_.has_solutions()) {
      build_own(item, solution_of(item.task), item.reference);
    }
  }
}

// One of ours, if there is such a file and it is not built yet.
void Run::build_own(const Item& item, const fs::path& file, fs::path& worker) const {
  if (fs::exists(file) && worker.empty()) {
    worker = builder_.build_own(*item.task.exercise, file);
  }
}

fs::path Run::solution_of(const Task& task) const {
  return config_.solution_of(*task.chapter, *task.exercise);
}

GraderRun Run::grader_run(const Item& item) const {
  GraderRun run;
  run.chapter = item.task.chapter;
  run.exercise = item.task.exercise->id;
  run.worker = item.worker;
  run.naive = item.naive;
  run.reference = item.reference;
  run.device = device_;
  run.seed = options_.seed;
  run.time_limit = options_.time_limit;
  return run;
}

// Empty if no terminal can show a name in it.
std::string Run::replay(const Exercise& exercise, const std::string& device) const {
  const auto word = [&](const fs::path& path) {
    return shell_word(shown_path(path, config_.source));
  };
  const fs::path& submission = options_.names.submission;
  const std::string command =
      fmt::format("{} grade{}{} --seed {} {}", word(config_.build / "onepass"),
                  submission == config_.exercises() ? "" : " --submission " + word(submission),
                  device.empty() ? "" : " --device " + device, options_.seed, exercise.id);
  return printable_line(command) == command ? command : "";
}

std::vector<std::string> Run::checks_of(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return names_of(report_["exercises"][index]["checks"]);
}

// A single exercise on the simulator is graded by two processes at once, the other from its last
// check on: there are the wide rows, which take the longest. Of several, each processor has its
// own.
std::size_t Run::at_once() const {
  const bool alone = items_.size() == 1 && device_ == Device::cpu && options_.until.empty();
  return alone && threads() > 1 ? 2 : 1;
}

void Run::grade(std::size_t index) {
  const Item& item = items_[index];
  if (item.worker.empty() || process::interrupted()) {
    return;
  }
  const std::string& id = item.task.exercise->id;
  std::size_t done = 0;
  HandOut checks(checks_of(index), [&](const Json& check) {
    return options_.until == kAnyFailure
               ? is_failure(check.at("status"))
               : !options_.until.empty() && text(check, "diagnosis") == options_.until;
  });
  std::vector<std::optional<std::string>> faults(at_once());
  const auto grade_some = [&](std::size_t who) {
    GraderRun run = grader_run(item);
    run.checks = &checks;
    run.from_end = who > 0;
    faults[who] = run_grader(run, [&](const Json& event) {
      update(index, [&](Json& exercise) {
        if (event.at("event") == "device") {
          report_["device"]["name"] = event.at("name");
        }
        if (event.at("event") == "check") {
          items_[index].launches[event.at("name")] = event.value("launches", Json::array());
        }
        apply_event(exercise, event);
        done += event.at("event") == "check" ? 1 : 0;
        progress_.show(
            fmt::format("grading {}: {} of {} checks", id, done, exercise["checks"].size()));
      });
    });
  };
  parallel_for(faults.size(), faults.size(), grade_some);
  const std::optional<std::string>& fault = faults.front() ? faults.front() : faults.back();
  update(index, [&](Json& exercise) {
    if (!fault && !process::interrupted() && options_.until.empty()) {
      set_rest_timed_out(exercise);
    }
    tell_apart(exercise["checks"]);
    tell_warnings_once(exercise["checks"]);
    for (const int todo : item.places ? item.places->todos() : std::set<int>()) {
      note_begun(exercise, todo, item.places->is_begun(todo));
    }
    for (Json& check : exercise["checks"]) {
      if (is_failure(check["status"])) {
        check["replay"] = replay(*item.task.exercise, options_.device);
      }
    }
    if (fault && !process::interrupted()) {
      exercise["fault"] = *fault;
    } else if (!fault && !options_.until.empty()) {
      set_rest_not_run(exercise);
    }
  });
}

void Run::measure(std::size_t index) {
  if (!is_to_measure(index)) {
    return;
  }
  GraderRun run = grader_run(items_[index]);
  run.measure = true;
  progress_.show(fmt::format("measuring {}", run.exercise));
  const auto fault = run_grader(run, [&](const Json& event) {
    update(index, [&](Json& exercise) { apply_event(exercise, event); });
  });
  if (fault && !process::interrupted()) {
    update(index, [&](Json& exercise) { exercise["notes"].push_back(*fault); });
  }
}

std::vector<std::string> Run::failed_checks(std::size_t index) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Json& check : report_["exercises"][index]["checks"]) {
    const std::string status = check["status"];
    if (is_failure(status) && status != "compile error" && names.size() < kExplained) {
      names.push_back(check["name"]);
    }
  }
  return names;
}

bool Run::is_passed(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return report_["exercises"][index]["status"] == "passed";
}

// A wrong kernel's traffic or time would mean nothing.
bool Run::is_to_measure(std::size_t index) {
  return !options_.checks_only && !process::interrupted() && is_passed(index);
}

// A GPU tells that a kernel is wrong; the simulator may see why. And a GPU may get a race right, by
// luck; the simulator does not. If it cannot be asked, the GPU's verdict stands by itself.
void Run::ask_simulator(std::size_t index) {
  const Item& item = items_[index];
  std::error_code error;
  if (item.worker.empty() || process::interrupted() || !fs::exists(config_.cpu.compiler, error)) {
    return;
  }
  progress_.show(fmt::format("asking the simulator about {}", item.task.exercise->id));
  const BuildResult result = Builder(config_, Device::cpu).build(item.task);
  if (result.error) {
    return;  // it uses what only a GPU has
  }
  GraderRun run = grader_run(item);
  run.worker = result.worker;
  run.device = Device::cpu;
  run.naive.clear();
  run.reference.clear();
  if (is_passed(index)) {
    object_on_simulator(index, run);
  } else {
    explain_on_simulator(index, run);
  }
}

void Run::explain_on_simulator(std::size_t index, GraderRun run) {
  HandOut checks(failed_checks(index));
  run.checks = &checks;
  run_grader(run, [&](const Json& event) {
    if (event.at("event") == "check" && is_failure(event.at("status"))) {
      Json alone = {event};
      tell_apart(alone);
      update(index, [&](Json& exercise) { add_explanation(exercise, alone[0]); });
    }
  });
}

// Numbers may differ by the device: the GPU has the last word on them, and on time.
void Run::object_on_simulator(std::size_t index, GraderRun run) {
  HandOut checks(checks_of(index));
  run.checks = &checks;
  run_grader(run, [&](const Json& event) {
    if (event.at("event") == "check" && is_wrong_anywhere(event)) {
      const std::string again = replay(*items_[index].task.exercise, "cpu");
      update(index, [&](Json& exercise) {
        add_objection(exercise, event, again);
        tell_apart(exercise["checks"]);
      });
    }
  });
}

void Run::update(std::size_t index, const std::function<void(Json&)>& change) {
  const std::lock_guard lock(mutex_);
  change(report_["exercises"][index]);
  settle(report_);
  save();
}

// A device, a pipe or a link gets the end only.
void Run::save(bool at_end) const {
  if (options_.report.empty() || (!at_end && !can_be_replaced(options_.report))) {
    return;
  }
  try {
    write_file(options_.report, report_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const GraderFault& fault) {
    throw GraderFault(fmt::format("{} Or give another file with --report.", fault.what()));
  }
}

}  // namespace onepass::driver

#include "driver/grade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/gpu_code/show.h"
#include "driver/gpu_lock.h"
#include "driver/graded.h"
#include "driver/next_step.h"
#include "driver/run.h"
#include "driver/student/remember.h"
#include "driver/student/standing.h"
#include "driver/submission.h"
#include "driver/terminal.h"
#include "driver/text.h"
#include "process/confinement.h"
#include "process/interrupt.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

int exit_code(const Json& report, bool strict) {
  if (!report["complete"].get<bool>()) {
    return kInterrupted;
  }
  if (has_ungraded(report)) {
    return kUngraded;
  }
  return strict && !all_passed(report) ? kNotAllPassed : kComplete;
}

// Ctrl-C ends whatever was going on with an exception; the report so far is still shown.
void until_interrupted(const std::function<void()>& work) {
  try {
    work();
  } catch (const GraderFault&) {
    if (!process::interrupted()) {
      throw;
    }
  }
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Where it cannot be noted, that is said, and the verdict stands.
std::string what_changed(const Config& config, const std::vector<Task>& tasks, const Json& report) {
  try {
    return remember(config, tasks, report);
  } catch (const GraderFault& fault) {
    fmt::print(stderr, "What you have passed could not be noted. {}\n", fault.what());
    return "";
  }
}

// What to type at the first failure of an exercise that was begun.
std::string what_helps(const Config& config, const std::vector<Task>& tasks, const Json& report) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Json& exercise = report["exercises"][i];
    const std::optional<NextStep> next = next_step(exercise);
    if (!next) {
      continue;
    }
    for (const char* told : {"compile error", "missing", "not started"}) {
      if (text(*next->check, "status") == told) {
        return "";  // that says what to do
      }
    }
    const std::string program = program_of(config);
    const std::string diagnosis = text(*next->check, "diagnosis");
    std::vector<std::string> commands;
    if (!diagnosis.empty() && diagnosis != "not-started") {  // that TODO has code
      commands.push_back(fmt::format("{} explain {}", program, diagnosis));
    }
    if (!exercise.contains("outside_todos")) {
      commands.push_back(fmt::format("{} hint {} {}", program,
                                     number_of({tasks[i].chapter, tasks[i].exercise}), next->todo));
    }
    return commands.empty() ? "" : fmt::format("Stuck? {}\n", fmt::join(commands, ", "));
  }
  return "";
}

// What comes next; and where one exercise has passed, how to see it beside its solution.
std::string what_comes_then(const Config& config, const std::vector<Task>& tasks) {
  const Task& last = tasks.back();
  const bool is_shown = tasks.size() == 1 && config.has_solutions() &&
                        fs::exists(config.solution_of(*last.chapter, *last.exercise));
  return (is_shown ? fmt::format("Yours beside the solution: {} diff {}\n", program_of(config),
                                 number_of({last.chapter, last.exercise}))
                   : "") +
         told_next(config, standings(config), last.exercise->id);
}

}  // namespace

void keep_verdicts(const Config& config, const std::vector<Task>& tasks, const Json& report,
                   const GradeOptions& options) {
  if (report["complete"] != true || report.contains("gpu_code") || !options.until.empty() ||
      options.time_limit || !options.nvcc) {
    return;
  }
  const Device device = report["device"]["kind"] == "gpu" ? Device::gpu : Device::cpu;
  try {
    const Graded graded(config, device, text(report["device"], "name"), options.seed);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      graded.keep(tasks[i], report["exercises"][i]);
    }
  } catch (const GraderFault&) {  // then a later run grades them again
  }
}

void require_confinement() {
  const std::vector<std::string> gaps = process::gaps(process::layers());
  if (!gaps.empty()) {
    throw BadInput(fmt::format("Nothing is graded, because of --require-confinement: {}",
                               fmt::join(gaps, " ")));
  }
}

Device choose_device(const Config& config, const std::string& asked) {
  if (asked == "cpu" || (asked.empty() && !config.gpu_reason.empty())) {
    return Device::cpu;
  }
  if (!asked.empty() && asked != "gpu") {
    throw BadInput(fmt::format("There is no device {}: choose cpu or gpu.", asked));
  }
  if (!config.gpu_reason.empty()) {
    throw BadInput(fmt::format(
        "Cannot grade on a GPU: {}. Use --device cpu, or mend that and run cmake again.",
        config.gpu_reason));
  }
  return Device::gpu;
}

int grade(const Config& config, GradeOptions options) {
  if (options.require_confinement) {
    require_confinement();
  }
  fs::path& submission = options.names.submission;
  submission = submission.empty() ? config.exercises()
                                  : without_slash(fs::absolute(submission).lexically_normal());
  if (options.report.empty()) {
    options.report = config.build / "report" / (submission.filename().string() + ".json");
  }
  const Device device = choose_device(config, options.device);
  const std::vector<Task> tasks = select_tasks(config, options.names);
  Style style = style_for(STDOUT_FILENO);
  style.lines = options.lines;
  style.all = options.all;
  Run run(config, tasks, options, device);
  {
    std::optional<GpuLock> lock;
    if (!options.checks_only) {  // checks may share a GPU, what is timed may not
      lock.emplace(config.build, device);
    }
    until_interrupted([&] { run.work(); });
  }
  // The verdict does not wait for what takes longer. Where it cannot be printed, main() says so:
  // the report is written all the same. And the other way round.
  const Json told = run.report();
  print(render_verdict(told, style));
  const bool is_students = is_own(config, submission) && options.until.empty();
  std::string changes = is_students ? what_changed(config, tasks, told) : "";
  until_interrupted([&] { run.count_traffic(); });
  print(render_figures(run.report(), style));
  until_interrupted([&] {
    run.experiment();
    run.add_gpu_code();
  });
  std::exception_ptr unwritten;
  try {
    run.finish();
  } catch (const GraderFault&) {
    unwritten = std::current_exception();
  }
  print(render_gpu_code(told, run.report(), style));
  changes += is_students ? what_changed(config, tasks, run.report()) : "";
  print(changes.empty() ? "" : "\nSince the last grading:\n" + changes);
  print(render_end(run.report(), style));
  if (is_students && run.report()["complete"] == true) {
    print(all_passed(run.report()) ? what_comes_then(config, tasks)
                                   : what_helps(config, tasks, run.report()));
  }
  keep_verdicts(config, tasks, run.report(), options);
  if (unwritten) {
    std::rethrow_exception(unwritten);
  }
  return exit_code(run.report(), options.strict);
}

}  // namespace onepass::driver

#include "driver/submission.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// Why the file cannot be graded and what to do; empty if it can.
std::string objection(const Task& task, bool own_exercises) {
  std::error_code error;
  if (fs::is_regular_file(task.file, error) && access(task.file.c_str(), R_OK) == 0) {
    return "";
  }
  if (fs::exists(task.file, error)) {
    return fmt::format("{} cannot be read: make it a file that can.", task.shown);
  }
  return fmt::format("{} is missing: {}.", task.shown,
                     own_exercises
                         ? fmt::format("git checkout {} brings it back", shell_word(task.shown))
                         : "a submission has the exercise under this name");
}

void require_any(const std::vector<Task>& tasks, const fs::path& submission, bool own_exercises) {
  if (std::any_of(tasks.begin(), tasks.end(), [](const Task& t) { return t.missing.empty(); })) {
    return;
  }
  if (tasks.size() == 1) {
    throw BadInput(tasks.front().missing);
  }
  throw BadInput(own_exercises
                     ? "The files of these exercises are all missing: git checkout exercises "
                       "brings them back."
                     : fmt::format("{} is no submission, it holds no file such as {}/{}: give a "
                                   "folder laid out like exercises/.",
                                   submission.string(), tasks.front().chapter->folder,
                                   tasks.front().exercise->file));
}

std::vector<Task> tasks_of(const Config& config, const Names& names,
                           const std::vector<Named>& exercises) {
  const fs::path submission = names.submission.empty() ? config.exercises() : names.submission;
  std::error_code error;
  const bool own_exercises =
      submission == config.exercises() || fs::equivalent(submission, config.exercises(), error);
  if (!own_exercises && !fs::is_directory(submission)) {
    throw BadInput(fmt::format(
        "There is no folder {}: give a folder laid out like exercises/ to --submission.",
        submission.string()));
  }
  std::vector<Task> tasks;
  for (const Named& named : exercises) {
    const fs::path file = submission / named.chapter->folder / named.exercise->file;
    Task task = {{named.exercise, file, shown_path(file, config.source)}, named.chapter, ""};
    task.missing = objection(task, own_exercises);
    tasks.push_back(std::move(task));
  }
  require_any(tasks, submission, own_exercises);
  return tasks;
}

}  // namespace

std::vector<Task> select_tasks(const Config& config, const Names& names) {
  return tasks_of(config, names, exercises_named(config, names));
}

Task select_task(const Config& config, const Names& names) {
  return tasks_of(config, names, {exercise_named(config, names)}).front();
}

}  // namespace onepass::driver

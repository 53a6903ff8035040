#include "driver/submission.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/bad_input.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

bool holds_a_chapter(const fs::path& submission, const Config& config) {
  return std::any_of(config.chapters.begin(), config.chapters.end(), [&](const Chapter& chapter) {
    return fs::is_directory(submission / chapter.folder);
  });
}

void require_submission(const fs::path& submission, const Config& config) {
  if (!fs::is_directory(submission)) {
    throw BadInput(fmt::format(
        "There is no folder {}: give a folder laid out like exercises/ to --submission.",
        submission.string()));
  }
  if (!holds_a_chapter(submission, config)) {
    throw BadInput(
        fmt::format("{} is no submission, it holds no folder such as {}: give a folder laid out "
                    "like exercises/.",
                    submission.string(), config.chapters.front().folder));
  }
}

void require_file(const Task& task, bool own_exercises) {
  if (!fs::is_regular_file(task.file)) {
    throw BadInput(fmt::format("{} is missing: put it back{}, or grade the others with --exercise.",
                               task.shown,
                               own_exercises ? fmt::format(" (git checkout {})", task.shown) : ""));
  }
}

std::vector<Task> tasks_of(const Config& config, const Names& names,
                           const std::vector<Named>& exercises) {
  const fs::path submission = names.submission.empty() ? config.exercises() : names.submission;
  require_submission(submission, config);
  std::vector<Task> tasks;
  for (const Named& named : exercises) {
    const fs::path file = submission / named.chapter->folder / named.exercise->file;
    tasks.push_back({named.chapter, named.exercise, file, shown_path(file, config.source)});
    require_file(tasks.back(), fs::equivalent(submission, config.exercises()));
  }
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

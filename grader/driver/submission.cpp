#include "driver/submission.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/bad_input.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

std::string names_of_chapters(const Config& config) {
  std::vector<std::string> names;
  for (const Chapter& chapter : config.chapters) {
    names.push_back(chapter.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_of_exercises(const Config& config) {
  std::vector<std::string> names;
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      names.push_back(exercise.id);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

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

}  // namespace

std::vector<Task> select_tasks(const Config& config, const fs::path& submission,
                               const std::string& chapter_name, const std::string& exercise_id) {
  std::vector<Task> tasks;
  bool chapter_known = chapter_name.empty();
  for (const Chapter& chapter : config.chapters) {
    chapter_known = chapter_known || chapter.name == chapter_name;
    if (!chapter_name.empty() && chapter.name != chapter_name) {
      continue;
    }
    for (const Exercise& exercise : chapter.exercises) {
      if (exercise_id.empty() || exercise.id == exercise_id) {
        const fs::path file = submission / chapter.folder / exercise.file;
        tasks.push_back({&chapter, &exercise, file, shown_path(file, config.source)});
      }
    }
  }
  if (!chapter_known) {
    throw BadInput(fmt::format("There is no chapter {}: choose one of {}.", chapter_name,
                               names_of_chapters(config)));
  }
  if (tasks.empty()) {
    throw BadInput(fmt::format("There is no exercise {}{}: choose one of {}.", exercise_id,
                               chapter_name.empty() ? "" : " in the chapter " + chapter_name,
                               names_of_exercises(config)));
  }
  require_submission(submission, config);
  for (const Task& task : tasks) {
    require_file(task, fs::equivalent(submission, config.exercises()));
  }
  return tasks;
}

}  // namespace onepass::driver

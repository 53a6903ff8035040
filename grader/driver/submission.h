// What is to be graded: the student's file of each exercise asked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/naming.h"

namespace onepass::driver {

/// Shown as "exercises/01_rmsnorm/forward.cu". The text is read once, here; a byte order mark is no
/// part of it.
struct Task : Implementation {
  const Chapter* chapter;
  std::string missing;  // why there is no text, and what to do; empty if there is
};

/// Is that folder the workbook's own exercises?
bool is_own(const Config& config, const std::filesystem::path& submission);

/// All of the workbook's own exercises, those that have no file too.
std::vector<Task> own_tasks(const Config& config);

/// The exercises named, in the folder names.submission: of each the regular file there, 1 MiB at
/// most, that no link leads out of the folder for. Throws BadInput as exercises_named() does, and
/// for a folder that holds the file of none of them; GraderFault if the machine cannot read one.
std::vector<Task> select_tasks(const Config& config, const Names& names);

/// The exercises in the folder of a submission, whether it has any or none, shown as
/// "01_rmsnorm/forward.cu" wherever it lies.
std::vector<Task> tasks_in(const std::vector<Named>& exercises,
                           const std::filesystem::path& folder);

/// A task of a submission with no text yet, shown like these, and its text: what is too large for
/// an exercise makes it a missing one.
Task unread_task(const Named& named);
void set_text(Task& task, std::string text);

/// Bytes that an exercise may have.
constexpr std::size_t kMostBytes = 1 << 20;

/// select_tasks() of one exercise.
Task select_task(const Config& config, const Names& names);

}  // namespace onepass::driver

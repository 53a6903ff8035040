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

/// The same of one exercise.
Task select_task(const Config& config, const Names& names);

}  // namespace onepass::driver

// What is to be graded: the student's file of each exercise asked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/naming.h"

namespace onepass::driver {

struct Task {
  const Chapter* chapter;
  const Exercise* exercise;
  std::filesystem::path file;  // the student's
  std::string shown;           // its name in messages: "exercises/01_rmsnorm/forward.cu"
  std::string missing;         // why there is no such file, and what to do; empty if there is

  Implementation implementation() const { return {exercise, file, shown}; }
};

/// The exercises named, in the folder names.submission. Throws BadInput as exercises_named() does,
/// and for a folder that holds the file of none of them.
std::vector<Task> select_tasks(const Config& config, const Names& names);

/// The same of one exercise.
Task select_task(const Config& config, const Names& names);

}  // namespace onepass::driver

// What is to be graded: the exercises asked for, and the student's file of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/config.h"

namespace onepass::driver {

struct Task {
  const Chapter* chapter;
  const Exercise* exercise;
  std::filesystem::path file;  // the student's
  std::string shown;           // its name in messages: "exercises/01_rmsnorm/forward.cu"
};

/// The exercises of `chapter` and with the id `exercise`; empty means all. Throws BadInput for
/// a name that the workbook does not have, a folder that is no submission, and a file not there.
std::vector<Task> select_tasks(const Config& config, const std::filesystem::path& submission,
                               const std::string& chapter, const std::string& exercise);

}  // namespace onepass::driver

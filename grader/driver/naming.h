// How a user names exercises, for every command alike: `rmsnorm/forward`, `1.2`, `forward` (of
// every chapter that has one), a chapter (`rmsnorm`, `01_rmsnorm`, `1`), or a file or folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/config.h"

namespace onepass::driver {

struct Named {
  const Chapter* chapter;
  const Exercise* exercise;
};

/// What is asked for, and the folder that is meant by a path.
struct Names {
  std::vector<std::string> exercises;  // empty: all
  std::string chapter;                 // only of this one; empty: of all
  std::filesystem::path submission;    // empty: the workbook's own exercises
};

/// In the workbook's order, each once. Throws BadInput for a name that nothing has.
std::vector<Named> exercises_named(const Config& config, const Names& names);

/// "1.2": short for its id, which it is where the chapter has no number.
std::string number_of(const Named& named);

/// For a command that takes one exercise. Throws BadInput, saying which ones it could be.
Named exercise_named(const Config& config, const Names& names);

}  // namespace onepass::driver

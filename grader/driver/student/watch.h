// `onepass watch`: grades an exercise again whenever its file is saved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "driver/config.h"

namespace onepass::driver {

struct WatchOptions {
  std::vector<std::string> exercises;  // empty: all, and the next one is graded first
  std::string device;                  // as in GradeOptions
  std::uint64_t seed = 1;
  std::filesystem::path workbook;  // as the program that grades is told
};

/// Until a key or Ctrl-C ends it. On a terminal the screen is drawn anew and shows the last
/// verdict; elsewhere verdicts follow one another. Returns the exit code. Throws BadInput and
/// GraderFault.
int watch(const Config& config, const WatchOptions& options);

}  // namespace onepass::driver

// The commands that help a student on the way through the workbook, and `onepass` without one.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "driver/config.h"
#include "driver/student/hints.h"
#include "driver/student/watch.h"

namespace onepass::driver {

class StudentCommands {
 public:
  explicit StudentCommands(CLI::App& app);

  /// Runs the command that was given, or says where the student stands. Returns the exit code.
  int run(const Config& config, const std::filesystem::path& workbook);

 private:
  const CLI::App& app_;
  WatchOptions watching_;
  HintOptions hinting_;
  std::string exercise_, mistake_, shell_;
  CLI::App *watch_, *hint_, *list_, *reset_, *diff_, *explain_, *completion_;
};

}  // namespace onepass::driver

// The commands for an instructor: to grade a class, and to give the workbook to students.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "driver/class/class.h"
#include "driver/config.h"

namespace onepass::driver {

class InstructorCommands {
 public:
  explicit InstructorCommands(CLI::App& app);

  /// Runs the command that was given and returns the exit code; nothing if it was none of these.
  std::optional<int> run(const Config& config);

 private:
  course::ClassOptions grading_;
  std::filesystem::path handout_, zip_, policy_;
  CLI::App *class_, *handout_command_, *gradescope_;
};

}  // namespace onepass::driver

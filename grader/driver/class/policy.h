// What an instructor decides of a class's grading: a JSON file, every field of which may be absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/report.h"

namespace onepass::driver::course {

/// How much of the verdict a student is told. Each has what the one before it has.
enum class Shown { score, checks, messages, output };

struct Policy {
  std::vector<std::string> exercises;     // asked for; empty: all but optional ones
  std::map<std::string, double> weights;  // of an exercise, by its id; 1 where none is named
  std::optional<double> out_of;           // what full marks are; empty: the sum of all points
  std::string device;                     // "cpu", "gpu", empty: the GPU if there is one
  std::vector<std::uint64_t> seeds = {1};
  std::optional<double> launch_seconds;  // the time limit of a launch
  bool measure = true;                   // what is passed: traffic, or times
  bool experiments = true;               // which TODOs of a failing file are right?
  bool nvcc = true;                      // where there is one and the simulator grades
  bool require_confinement = false;
  std::string deadline;  // "2026-11-30T23:59:00Z"; empty: none is known
  Shown shown = Shown::messages;

  double weight(const std::string& exercise) const;
};

/// Throws BadInput, in a sentence that names the file and the field, for what is no policy of this
/// workbook.
Policy read_policy(const Config& config, const std::filesystem::path& file);

/// Seconds since 1970 of a time as `deadline` gives it. Throws BadInput for any other text.
std::int64_t time_of(const std::string& text);

}  // namespace onepass::driver::course

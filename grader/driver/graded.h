// Verdicts of earlier runs, found again by all that a verdict depends on: the file's text, the
// grader, the device and the seed. `onepass library` takes them instead of grading again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "driver/cache.h"
#include "driver/config.h"
#include "driver/report.h"
#include "driver/submission.h"

namespace onepass::driver {

class Graded {
 public:
  /// `device_name`: what the device calls itself, as reports have it.
  Graded(const Config& config, Device device, const std::string& device_name, std::uint64_t seed);

  /// The exercise, as the report of an earlier run has it.
  std::optional<Json> find(const Task& task) const;

  /// Keeps it for later runs, unless it is ungraded or has no file. Throws GraderFault.
  void keep(const Task& task, const Json& exercise) const;

 private:
  CacheEntry entry_of(const Task& task) const;

  const Config& config_;
  std::string label_;   // "cpu"
  std::string recipe_;  // everything but the exercise's own files
};

}  // namespace onepass::driver

// One exercise of one submission, graded by itself.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "driver/class/policy.h"
#include "driver/class/store.h"
#include "driver/config.h"
#include "driver/grade.h"
#include "driver/run.h"
#include "driver/submission.h"

namespace onepass::driver::course {

/// Grades files, whoever they are by. What is the same for all who hand in an exercise, what the
/// naive version and the solution move, is counted once. Any number of threads may use it.
class Grading {
 public:
  /// All that `policy` does not say is the device that is used.
  Grading(const Config& config, const Policy& policy, Device device, const Store& store);

  /// Two files with the same one have the same verdict. Of several seeds the first only measures.
  Key key_of(const Task& task, std::uint64_t seed) const;

  /// The report of a run over this file alone. Only a complete one without a fault of the machine
  /// is kept. Throws GraderFault, and after Ctrl-C.
  Json grade(const Task& task, std::uint64_t seed);

 private:
  KnownTrials trials_of(std::uint64_t seed) const;
  GradeOptions options_for(std::uint64_t seed) const;
  void add_what_others_move(const Task& task, std::uint64_t seed, Json& exercise);
  const Json& what_others_move(const Task& task, std::uint64_t seed);
  Json count_what_others_move(const Task& task, std::uint64_t seed) const;

  const Config& config_;
  const Policy& policy_;
  const Device device_;
  const Store& store_;
  std::map<std::string, std::string> workbook_;  // of each exercise, all of ours that grades it
  std::mutex mutex_;                             // for
  std::map<std::string, Json> others_;           // of each exercise, a "traffic" of its report
};

}  // namespace onepass::driver::course

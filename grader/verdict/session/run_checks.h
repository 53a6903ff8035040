// Runs the checks of one exercise, which are doctest test cases of the suite that bears its id.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/session/failure.h"
#include "verdict/session/session.h"

namespace onepass::verdict {

struct CheckInfo {
  std::string name;
  int points = 0;
  int todo = 0;
};

struct CheckResult {
  CheckInfo info;
  std::optional<Failure> failure;  // nothing: passed
  std::vector<std::string> warnings;
  std::string output;
  std::optional<double> error_over_bound = {};  // the largest of the fp32 results that were right

  Status status() const { return failure ? failure->status : Status::passed; }
};

/// The checks of an exercise, in the order in which they run.
std::vector<CheckInfo> list_checks(const std::string& exercise);

/// Runs these of them in the current session and hands each result to `done` at once, which says
/// whether to go on.
void run_checks(const std::string& exercise, const std::vector<CheckInfo>& wanted,
                const std::function<bool(const CheckResult&)>& done);

/// What becomes of the whole exercise: passed if all passed; ungraded if any could not be graded,
/// or is missing; not started if all are; else the status of the first check that failed, where a
/// mix with "not started" counts as failed.
Status exercise_status(const std::vector<CheckInfo>& wanted,
                       const std::vector<CheckResult>& results);

}  // namespace onepass::verdict

// The checks of an exercise, which are doctest's test cases of the suite that bears its id.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verdict/session/failure.h"
#include "verdict/session/session.h"
#include "wire/exercise.h"

namespace onepass::verdict {

using wire::CheckInfo;

struct CheckResult {
  CheckInfo info;
  std::optional<Failure> failure;  // nothing: passed
  std::vector<std::string> warnings;
  std::string output;
  std::optional<double> error_over_bound = {};  // the largest of the fp32 results that were right

  Status status() const { return failure ? failure->status : Status::passed; }
};

/// The checks of an exercise, in the order in which they run. Throws std::logic_error for a test
/// case that is none (check.h).
std::vector<CheckInfo> list_checks(const std::string& exercise);

/// Runs one of them; session() is this one meanwhile.
CheckResult run_check(Session& session, const std::string& exercise, const CheckInfo& check);

}  // namespace onepass::verdict

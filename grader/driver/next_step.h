// What to do next in an exercise that was graded and did not pass.
#pragma once

#include <optional>

#include "driver/report.h"

namespace onepass::driver {

struct NextStep {
  const Json* check;  // the failure that is told first, of those that cost something
  int todo;           // at fault, as far as is known; else the check's
  bool is_known;      // is it for sure that something is to be done for that TODO?
};

/// Nothing if no check failed.
std::optional<NextStep> next_step(const Json& exercise);

}  // namespace onepass::driver

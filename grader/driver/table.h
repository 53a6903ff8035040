// The report's tables: what the exercises and their lines move, and how fast. Empty where nothing
// was measured.
#pragma once

#include <string>

#include "driver/report.h"

namespace onepass::driver {

/// Bytes of global memory moved per element, on the simulator: least, student's, naive, solution's.
std::string traffic_table(const Json& report);

/// What each line of the student's moves: `entry` is one of the exercise's "traffic".
std::string lines_table(const Json& exercise, const Json& entry);

/// "forward.cu:41"; of a header that the exercise gives, with the student's line: "fast.h:57
/// (called from 41)"
std::string place(const Json& line);

/// Effective bandwidth, on a GPU: naive, student's, copy of the same number of bytes.
std::string bandwidth_table(const Json& report);

/// What could not be measured, and why: a line each.
std::string measurement_notes(const Json& report);

}  // namespace onepass::driver

// The report's two tables: what the exercises move, and how fast. Empty where nothing was measured.
#pragma once

#include <string>

#include "driver/report.h"

namespace onepass::driver {

/// Bytes of global memory moved per element, on the simulator: least, student's, naive.
std::string traffic_table(const Json& report);

/// Effective bandwidth, on a GPU: naive, student's, copy of the same number of bytes.
std::string bandwidth_table(const Json& report);

/// What could not be measured, and why: a line each.
std::string measurement_notes(const Json& report);

}  // namespace onepass::driver

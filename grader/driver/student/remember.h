// What a grading leaves for the next one to know.
#pragma once

#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/report.h"
#include "driver/student/notebook.h"
#include "driver/submission.h"

namespace onepass::driver {

/// Notes what was found out so far about the workbook's own exercises, but of those that are
/// ungraded. Returns what is different from what was noted before, a line each, for the terminal:
/// "  1.2: 16.00
/// -> 8.00 bytes an element". Throws GraderFault if nothing could be noted.
std::string remember(const Config& config, const std::vector<Task>& tasks, const Json& report);

/// "8.00 bytes an element", "1534 GB/s", with the best so far if that is another. Empty if nothing
/// was measured.
std::string told_measured(const Note& note);

}  // namespace onepass::driver

// `onepass` alone, and `onepass list`: where the student stands, and the next step.
#pragma once

#include <string>
#include <vector>

#include "driver/student/standing.h"
#include "driver/terminal.h"

namespace onepass::driver {

/// A line a chapter, and what to do next.
std::string render_overview(const Config& config, const std::vector<Standing>& all, Style style);

/// A line an exercise.
std::string render_list(const Config& config, const std::vector<Standing>& all, Style style);

}  // namespace onepass::driver

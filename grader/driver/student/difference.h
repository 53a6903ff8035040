// `onepass diff`: a student's file beside the solution, once it has passed.
#pragma once

#include <string>

#include "driver/config.h"
#include "driver/terminal.h"

namespace onepass::driver {

/// The lines of two texts that are not in both, with `-` and `+` before them, and three of those
/// around. Empty if they are the same, but for blanks at the ends of lines.
std::string differing_lines(const std::string& one, const std::string& other, Style style);

/// The student's lines and the solution's, and why the solution does what it does, from
/// docs/solutions.md. Throws BadInput for an exercise that has never passed.
std::string difference(const Config& config, const std::string& exercise, Style style);

}  // namespace onepass::driver

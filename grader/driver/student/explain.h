// `onepass explain`: what docs/mistakes.md says of a mistake that the grader names.
#pragma once

#include <string>
#include <vector>

#include "driver/config.h"

namespace onepass::driver {

/// The names of all mistakes, in the page's order. Throws GraderFault if the page cannot be read.
std::vector<std::string> mistakes(const Config& config);

/// `name`: such as "missing-barrier"; empty: those that the last grading of each exercise named.
/// Throws BadInput for a name that is not on the page.
std::string explain(const Config& config, const std::string& name);

}  // namespace onepass::driver

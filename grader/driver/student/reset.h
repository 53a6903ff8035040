// `onepass reset`: an exercise as it was given.
#pragma once

#include <string>

#include "driver/config.h"

namespace onepass::driver {

/// Puts the skeleton in the place of the student's file, which is kept beside it, and says so.
/// Throws BadInput for a name that is not that of one exercise, and GraderFault.
std::string reset(const Config& config, const std::string& exercise);

}  // namespace onepass::driver

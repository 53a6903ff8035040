// The page that a student gets.
#pragma once

#include <string>

#include "driver/class/told.h"

namespace onepass::driver::course {

std::string feedback_markdown(const Told& told);

/// The same for a browser: a page that needs nothing else.
std::string feedback_html(const Told& told);

}  // namespace onepass::driver::course

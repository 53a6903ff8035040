// What several checks tell together.
#pragma once

#include "driver/text.h"

namespace onepass::driver {

/// Names, in the failures that several mistakes explain ("possible", which goes), the one that
/// explains most of all failures, if it explains more than one. Of several that explain as many,
/// which no shape could tell apart, the first. checks: of one exercise.
void tell_apart(Json& checks);

/// A warning about a line ("file:line: ...", and what to do below) is told with the first check
/// that has it: the next shows the same at another element.
void tell_warnings_once(Json& checks);

/// Is that warning, "file.cu:5: What.\nAdvice.", what the failed check says of the same line?
bool is_told_by(const Json& check, const std::string& warning);

}  // namespace onepass::driver

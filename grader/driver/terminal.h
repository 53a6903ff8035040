// The report as text for a terminal.
#pragma once

#include <string>

#include "driver/report.h"

namespace onepass::driver {

struct Style {
  bool color = false;
  bool lines = false;  // a table of what each line moves, for more than a single exercise too
};

/// Colour for a terminal, none in a pipe or where NO_COLOR is set (no-color.org).
Style style_for(int file_descriptor);

/// The whole report. `report` must be settled.
std::string render(const Json& report, Style style);

}  // namespace onepass::driver

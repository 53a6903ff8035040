// The report as text for a terminal.
#pragma once

#include <string>

#include "driver/report.h"

namespace onepass::driver {

struct Style {
  bool color = false;
  bool lines = false;  // a table of what each line moves, for more than a single exercise too
  bool all = false;    // every failure in full
};

/// Colour for a terminal, none in a pipe or where NO_COLOR is set (no-color.org); in a pipe too
/// where CLICOLOR_FORCE is (bixense.com/clicolors).
Style style_for(int file_descriptor);

/// The report in three parts, all settled: what the checks say; what was measured; then what
/// experiments say of the TODOs, the score, and what to open next.
std::string render_verdict(const Json& report, Style style);
std::string render_figures(const Json& report, Style style);
std::string render_end(const Json& report, Style style);

}  // namespace onepass::driver

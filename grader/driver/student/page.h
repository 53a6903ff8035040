// The pages of docs/ on a terminal.
#pragma once

#include <string>

#include "driver/config.h"

namespace onepass::driver {

/// What an exercise's `docs` names ("docs/01_rmsnorm.md, \"1.2 The forward pass\""): the text below
/// that heading, up to the next one of its rank. Throws GraderFault if it is not there.
std::string section_named(const Config& config, const std::string& docs);

/// Markdown as lines of `width` characters at most, but for code, which is moved to the right.
std::string as_text(const std::string& markdown, std::size_t width);

/// How many characters a line of the terminal has that standard output is; 0: not known.
std::size_t terminal_width();

/// The same, within what is pleasant to read.
std::size_t reading_width();

}  // namespace onepass::driver

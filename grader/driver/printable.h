// What others wrote (a student's program, a compiler, whoever named a file) as it may be shown: a
// terminal takes control characters for orders.
#pragma once

#include <string>
#include <string_view>

#include "driver/report.h"

namespace onepass::driver {

/// UTF-8 with the lines and tabs of `text`; every other control character, every character that
/// turns the direction of writing, and every byte that is no UTF-8 is a question mark.
std::string printable(std::string_view text);

/// The same in one line: a file's name, say.
std::string printable_line(std::string_view text);

/// As a page in HTML or XML has it: with entities for &, <, > and ".
std::string in_html(std::string_view text);

/// printable() of all strings in it.
void make_printable(Json& value);

}  // namespace onepass::driver

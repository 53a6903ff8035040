// What a terminal shows of an exercise that did not pass.
#pragma once

#include <string>
#include <vector>

#include "driver/paint.h"

namespace onepass::driver {

/// The checks that did not pass, in the order of the workbook, but before all the first of which
/// the cause is known: it may well be the others' cause too.
std::vector<const Json*> failures(const Json& exercise);

/// The first failure in full, if `in_full`, and all of them if the style says so; of the others,
/// which may have the same cause, a few names.
void write_failures(Out out, const Json& exercise, Style style, bool in_full = true);

/// What the student's code printed in a check, unless write_failures() has told it.
void write_what_was_printed(Out out, const Json& exercise, Style style);

/// Where a check's file does not compile, as far as that is known.
std::string compile_error_at(const Json& exercise, const Json& check);

}  // namespace onepass::driver

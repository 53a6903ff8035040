// What other programs read: Gradescope's results.json, JUnit's XML, a table for a spreadsheet.
#pragma once

#include <string>
#include <vector>

#include "driver/class/told.h"
#include "driver/report.h"

namespace onepass::driver::course {

/// gradescope-autograders.readthedocs.io, "Output format".
Json gradescope_results(const Told& told);

/// A test suite of one student's, to stand between kJunitBegin and kJunitEnd.
std::string junit_suite(const Json& report);
constexpr const char* kJunitBegin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
constexpr const char* kJunitEnd = "</testsuites>\n";

/// RFC 4180. A field that a spreadsheet would take for a formula begins with an apostrophe.
std::string csv_line(const std::vector<std::string>& fields);

/// The heading's fields, and a student's: grade, status, and the points of each exercise.
std::vector<std::string> csv_heading(const std::vector<std::string>& exercises);
std::vector<std::string> csv_fields(const Json& report);

/// "complete", "ungraded" where a fault of the machine left something so, "not graded yet".
std::string status_of(const Json& report);

}  // namespace onepass::driver::course

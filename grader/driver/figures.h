// The figures of a measurement: where they stand in an event "traffic" or "bandwidth" of a
// chapter's grader, and what tables make of them.
#pragma once

#include <string>
#include <vector>

#include "driver/report.h"

namespace onepass::driver {

struct Figure {
  std::string name;          // a heading: "yours"
  std::string place;         // in the event: "/student/requested_bytes"
  std::string divisor = {};  // the place of another figure, or "elements": rows * cols; empty: 1
  int decimals = 0;
  double factor = 1;
};

constexpr const char* kTrafficTitle =
    "Global memory traffic, bytes per element, in sectors of 32 bytes:";

/// What was moved, in bytes per element. `reference`: the heading of what it was measured beside;
/// empty: nothing.
std::vector<Figure> traffic_figures(const std::string& reference);

/// The number at a place in an event; 0 if there is none.
double number_at(const Json& event, const std::string& place);

/// 0 if there is none.
double value_of(const Json& event, const Figure& figure);
/// For a table: a dash if there is none.
std::string figure_text(const Json& event, const Figure& figure);

}  // namespace onepass::driver

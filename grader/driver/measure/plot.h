// A line plot as an SVG file: one panel below the other, with one legend for all.
#pragma once

#include <string>
#include <vector>

namespace onepass::driver {

struct Series {
  std::string name;
  std::vector<double> y;          // one for each x of the panel; 0: there is none
  std::vector<double> low, high;  // a band around y, or empty
  bool dashed = false;            // what the others are held to: no marks
};

struct Panel {
  std::string title;      // "4096 rows, fp16"
  std::vector<double> x;  // ascending, whole numbers
  std::vector<Series> series;
};

struct Plot {
  std::string title;
  std::string subtitle;
  std::string x_label, y_label;
  std::vector<Panel> panels;
};

/// The text of the file. Where the largest x is 16 times the smallest or more, each doubling is as
/// wide as the next. The y axis begins at 0. There must be a panel, and all panels have the same
/// series in the same order.
std::string svg(const Plot& plot);

}  // namespace onepass::driver

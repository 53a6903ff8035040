// The table that `onepass measure` prints row by row while results come in.
#pragma once

#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/figures.h"

namespace onepass::driver {

class MeasureTable {
 public:
  /// `with`: the heading of the other submission's column; empty: there is none.
  MeasureTable(Device device, const std::string& with);

  /// What the figures are, and the columns' names.
  std::string header() const;

  /// The row of an event "traffic", "bandwidth", "measurement_failed" or "skipped".
  std::string row(const Json& event);

  /// The texts of the marks that rows ended with.
  std::string notes() const;

 private:
  struct Column {
    std::string group;  // the line of the heading above the figure's name
    std::size_t width;
    Figure figure;
  };

  std::string title_;
  std::vector<Column> columns_;
  std::vector<std::string> notes_;
};

}  // namespace onepass::driver

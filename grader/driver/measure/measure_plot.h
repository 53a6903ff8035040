// What `onepass measure` found, as a plot: over the columns, or over the rows where only they vary.
#pragma once

#include <string>

#include "driver/measure/plot.h"
#include "driver/report.h"

namespace onepass::driver {

/// `report`: the file that measure.cpp writes. `with`: the name of the other submission, if any.
/// No panel where nothing was measured.
Plot plot_of(const Json& report, const std::string& with);

}  // namespace onepass::driver

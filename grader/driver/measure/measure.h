// `onepass measure`: how fast one exercise is at any shapes, on a GPU, or what it moves, on the
// simulator. The chapter's grader measures, as it does for `onepass grade`; here are the shapes,
// the table that grows as results come in, the report and the plot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "driver/naming.h"

namespace onepass::driver {

struct MeasureOptions {
  Names names;                 // of one exercise
  std::string rows, cols;      // lists and ranges, see ranges.h; both empty: as grade measures
  std::string dtypes;          // a list; empty: fp32
  std::filesystem::path with;  // another submission beside it; empty: none
  std::string device;          // "cpu", "gpu", empty: the GPU if there is one
  std::uint64_t seed = 1;
  std::filesystem::path report;  // empty: build/measure/<exercise>.json
  std::filesystem::path plot;    // empty: none
};

/// Returns kComplete if every shape that can be had was measured, kNotAllPassed if the kernel
/// failed at one, kBadInput if none can be had, kInterrupted. Throws BadInput and GraderFault.
int measure(const Config& config, const MeasureOptions& options);

}  // namespace onepass::driver

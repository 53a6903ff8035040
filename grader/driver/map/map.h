// `onepass map`: runs one exercise on the CPU simulator and writes a page that shows which bytes
// each warp touched, when, and at what cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "driver/naming.h"

namespace onepass::driver {

struct MapOptions {
  Names names;                             // of one exercise
  std::optional<std::int64_t> rows, cols;  // absent: as the chapter likes it
  std::string dtype;                       // empty: the same
  int launch = 0;                          // to show first, from 1; 0: the first with accesses
  bool naive = false;                      // the chapter's naive version, not the student's
  std::filesystem::path output;            // empty: build/map/<exercise>.html
};

/// Returns kComplete if the page shows a whole call, kNotAllPassed if the call did not come to its
/// end (the page shows what came before, if there is anything) or there is nothing to show. Throws
/// BadInput and GraderFault.
int map(const Config& config, const MapOptions& options);

}  // namespace onepass::driver

// `onepass library`: the exercises that pass, as one shared library with a plain C interface
// (onepass/library.h).
//
// Each is compiled as for a GPU's worker, with a file of library/parts in the place of its binding,
// and then keeps one name only, so that exercises may have helpers of the same name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "driver/config.h"

namespace onepass::driver {

struct LibraryOptions {
  std::filesystem::path folder;  // of exercises; empty: the workbook's own
  std::filesystem::path output;  // empty: build/library/<folder's name>/libonepass.so
  std::string architectures;     // "80,90"; empty: those that cmake was configured for
  std::string device;            // that grades: "cpu", "gpu", empty: the GPU if there is one
  std::uint64_t seed = 1;
};

/// Grades what is not known to pass, and writes the library of what does. Returns the exit code:
/// kNotAllPassed, and no library, where nothing passes. Throws BadInput and GraderFault.
int make_library(const Config& config, const LibraryOptions& options);

}  // namespace onepass::driver

// What the user gave cannot be worked with. The text is one or two sentences that say what to do;
// main() prints them and exits with 2.
#pragma once

#include <stdexcept>

namespace onepass::driver {

struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The grader itself could not do its work; main() prints why and exits with 3.
struct GraderFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace onepass::driver

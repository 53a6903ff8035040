// The list of what was found. A mistake in a kernel shows in thousands of threads: the list keeps
// one finding for each kind and pair of source lines, and at most kMost of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator.h"

namespace simulator {

class Findings {
 public:
  static constexpr std::size_t kMost = 16;

  /// Adds a finding unless its like is there.
  void add(Finding finding);

  std::vector<Finding> take();

 private:
  std::vector<Finding> findings_;
};

Findings& findings();

}  // namespace simulator

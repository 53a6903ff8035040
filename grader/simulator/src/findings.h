// The list of what was found. A mistake in a kernel shows in thousands of threads: the list keeps
// one finding for each kind and pair of source lines, and at most kMost of them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "simulator.h"
#include "source_lines.h"

namespace simulator {

class Findings {
 public:
  static constexpr std::size_t kMost = 16;

  /// True the first time in a launch for this kind and place: asked before a finding is composed,
  /// where millions of accesses may have the same to tell.
  bool is_first(Kind kind, CodeAddress site, CodeAddress other = 0);
  void begin_launch();
  /// Puts the launch's findings in order of cause, so that the first is the one to mend first.
  void end_launch();

  /// Adds a finding unless its like is there.
  void add(Finding finding);

  std::vector<Finding> take();

 private:
  std::vector<Finding> findings_;
  std::size_t launch_begin_ = 0;  // the first finding of this launch
  std::set<std::tuple<Kind, CodeAddress, CodeAddress>> told_;
};

Findings& findings();

}  // namespace simulator

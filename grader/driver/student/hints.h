// `onepass hint`: the hints of an exercise, which stand once, folded in its page of docs/. There
// are three, each nearer to the code than the last; a hint has a part for each TODO, and one more
// is opened of a TODO at a time.
#pragma once

#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/student/standing.h"

namespace onepass::driver {

struct Hint {
  std::string title;     // "where do I start?"
  std::string markdown;  // of all TODOs
};

/// Those of a section of a page, in order.
std::vector<Hint> hints_in(const std::string& section);

/// What a hint says of one TODO, with what it says of all. A part begins at "**TODO 2**", in code
/// at
/// "// TODO 2". A hint without a part for it is given whole.
std::string part_for(int todo, const std::string& markdown);

struct HintOptions {
  std::string exercise;  // empty: the next one to be passed
  int todo = 0;          // 0: the next one to be done
  bool again = false;    // those that are open already, and no other
  std::string key;       // that opens the one after it; empty: a command does
};

/// Opens the next hint, which is remembered, and gives its text. Throws BadInput and GraderFault.
std::string open_hint(const Config& config, const HintOptions& options);

}  // namespace onepass::driver

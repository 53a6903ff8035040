// What is remembered of a student's exercises from one command to the next: build/progress.json,
// which building anew leaves alone.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/report.h"
#include "wire/exercise.h"

namespace onepass::driver {

/// A figure of an exercise's first shape, over time: bytes per element, or GB/s.
struct Measured {
  std::string shape;  // "16 x 4096 fp32"; with another one the figures begin anew
  double best = 0, last = 0;
};

/// Of one exercise.
struct Note {
  std::string status;  // at the last grading, as in the report; empty: never graded
  int score = 0;
  int todo = 0;             // to be done next, of those; 0: none is known
  std::string diagnosis;    // of the failure that was told first
  std::string graded_text;  // fingerprint of what was graded
  std::string checks;       // of what it was graded by
  std::string passed_text;  // of what passed last; empty: nothing has
  Measured traffic, bandwidth;
  std::map<std::string, int> hints;  // opened, by the number of the TODO
};

/// An exercise that passed has to pass anew when it gets other checks.
std::string fingerprint_of_checks(const std::vector<wire::CheckInfo>& checks);

using Notebook = std::map<std::string, Note>;  // by exercise

/// What is known. A damaged file is put aside, with a sentence on stderr, and nothing is known.
/// Throws GraderFault if there is one that cannot be read.
Notebook read_notebook(const Config& config);

/// Changes what is known; of several processes one at a time does. The file is replaced at once or
/// not at all. Throws GraderFault if it cannot be written.
void change_notebook(const Config& config, const std::function<void(Notebook&)>& change);

}  // namespace onepass::driver

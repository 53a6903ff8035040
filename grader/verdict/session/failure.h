// Failure: why a check did not pass, in pieces that a report can lay out.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::verdict {

/// The report's words, by their JSON (events.h). `failed`: the call came to its end, and what it
/// did is wrong. `ungraded`: a fault of the grader or of the machine, never the student's.
enum class Status {
  passed,
  failed,
  not_started,
  compile_error,
  launch_error,
  device_error,
  crashed,
  timed_out,
  ended_early,
  ungraded
};

struct Failure {
  Status status = Status::failed;
  std::string message = {};                 // one or more sentences for the student
  std::optional<std::string> mistake = {};  // the diagnosis' id
  /// Mistakes that explain it as well, its own first if it has one. Which it is, the other checks
  /// may tell; only then the message says so.
  std::vector<Diagnosis> possible = {};
  std::optional<double> error_over_bound = {};
  std::optional<std::string> location = {};  // "file:line" in the student's file

  bool is_right = false;      // the results are: it moves too much, or takes too long
  bool took_memory = false;   // more of this computer's than a program may
  std::string past = {};      // the tensor that was left, if one was
  bool is_just_past = false;  // a short one, and by little: no index that lost bits leads there
  bool is_bare = false;       // it says what was seen, and nothing of why

  // Where there is a number to show.
  std::string where = {};     // "y[3][256]"
  std::string expected = {};  // "0.8312441"
  std::string got = {};       // "nan"
  std::string pattern = {};   // "columns 256 to 999 of every row"
  std::string call = {};      // "fp16, rows 3, cols 1000"
  std::string output = {};    // what the student's code printed
};

/// The same with another reason: what was seen, its first line, and `advice` for what followed.
inline Failure with_reason(Failure failure, const char* mistake, const std::string& advice) {
  failure.mistake = mistake;
  failure.is_bare = false;
  failure.message = failure.message.substr(0, failure.message.find('\n')) + "\n" + advice;
  return failure;
}

/// Ends a check, whose failure is noted.
struct CheckFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace onepass::verdict

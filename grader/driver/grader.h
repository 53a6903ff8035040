// Talks to a chapter's deciding process, grade-<chapter>: through its options and the events that
// it writes to a pipe, one JSON object a line. What it prints is shown only if it fails.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/hand_out.h"
#include "driver/report.h"
#include "wire/exercise.h"

namespace onepass::driver {

/// The chapter's exercises with their checks, as `grade-<chapter> --list` tells them.
/// Throws GraderFault.
std::vector<wire::ExerciseInfo> list_exercises(const Chapter& chapter);

struct GraderRun {
  const Chapter* chapter;
  std::string exercise;
  std::filesystem::path worker;
  std::filesystem::path naive, reference;  // measured beside it; empty: none
  Device device = Device::cpu;
  std::uint64_t seed = 0;
  HandOut* checks = nullptr;         // where its checks come from; it may be one of several
  bool from_end = false;             // it takes the last of them first
  std::optional<double> time_limit;  // seconds for one launch; empty: as the grader chooses
  double patience = 300.0;           // seconds; a grader without an event for so long hangs
  bool measure = false;              // the exercise's own shapes, instead of grading
  std::vector<std::string> shapes;   // measured instead of grading: "4096x1000xfp16"
  bool map = false;                  // the event "map" instead of grading: of a call of this shape,
  std::optional<std::int64_t> rows, cols;  // empty: as the chapter likes it
  std::string dtype;                       // the same
};

/// Runs the grader and hands over its events as they come. Returns nothing after a complete run,
/// else what went wrong: a fault of the grader or of the machine.
/// Throws BadInput if the grader says that the device cannot be used.
std::optional<std::string> run_grader(const GraderRun& run,
                                      const std::function<void(const Json&)>& on_event);

}  // namespace onepass::driver

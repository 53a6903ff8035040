// A submission graded in a container of podman's or docker's: `onepass class` again, of a class of
// one, which sees this workbook, the submission's exercises and a folder for what comes of it, and
// nothing else. What it leaves is read as what a stranger has written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/class/policy.h"
#include "driver/class/submissions.h"
#include "driver/config.h"
#include "driver/report.h"
#include "wire/exercise.h"

namespace onepass::driver::course {

/// "podman" or "docker", whichever is on PATH, podman first. Throws BadInput if none is.
std::string container_engine();

struct Container {
  std::string engine;
  std::string image;             // has the compilers that the workbook was built with
  std::filesystem::path folder;  // of this submission: in/submission/, out/, policy.json
};

/// What the engine is told. Throws BadInput for a path that it cannot be told.
std::vector<std::string> container_command(const Container& container, const Config& config,
                                           Device device);

/// Grades the submission. Returns nothing after a complete run, else what went wrong: a fault of
/// the engine or of the grader. Throws GraderFault after Ctrl-C.
std::optional<std::string> grade_in_container(const Container& container, const Config& config,
                                              const Policy& policy, Device device,
                                              const Submission& submission);

/// Is that the report of this exercise, as far as points depend on it? Throws JSON's exceptions for
/// what is no report at all.
bool is_report_of(const Json& report, const wire::ExerciseInfo& info);

}  // namespace onepass::driver::course

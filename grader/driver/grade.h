// `onepass grade`: builds each exercise by itself, runs the chapters' graders, reports.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/naming.h"
#include "driver/report.h"
#include "driver/submission.h"

namespace onepass::driver {

struct GradeOptions {
  Names names;
  std::string device;  // "cpu", "gpu", empty: the GPU if there is one
  std::uint64_t seed = 1;
  std::filesystem::path report;  // empty: build/report/<name of the submission's folder>.json
  bool strict = false;
  bool lines = false;                // tell what each line moves
  bool all = false;                  // tell every failure in full
  bool checks_only = false;          // measure nothing
  bool require_confinement = false;  // grade only if nothing is missing of what confines a worker
  bool experiments = true;           // find out which TODOs of a failing exercise are right
  bool nvcc = true;                  // compile for a GPU as well, where there is nvcc and no GPU
  std::optional<double> time_limit;  // seconds for one launch; empty: as the graders choose
  std::string until;                 // no check after one that fails by this mistake, or by any
  std::size_t jobs = 0;              // at once; 0: as many as there are processors
  bool alone = false;                // one of many: it shows no progress, keeps no worker, and
                                     // measures nothing beside what was submitted
};

constexpr const char* kAnyFailure = "failure";  // for `until`: whatever the mistake

/// Exit codes, as documented in docs/grading.md.
constexpr int kComplete = 0;
constexpr int kNotAllPassed = 1;  // with --strict
constexpr int kBadInput = 2;
constexpr int kUngraded = 3;
constexpr int kInterrupted = 130;

/// Grades, prints the report and returns the exit code. Throws BadInput and GraderFault.
int grade(const Config& config, GradeOptions options);

/// Keeps the verdicts of a whole run for later ones (graded.h), if they are what any run would
/// find.
void keep_verdicts(const Config& config, const std::vector<Task>& tasks, const Json& report,
                   const GradeOptions& options);

/// Throws BadInput where something of what confines a worker is missing.
void require_confinement();

/// The device that is meant. Throws BadInput if it cannot be used here.
Device choose_device(const Config& config, const std::string& asked);

}  // namespace onepass::driver

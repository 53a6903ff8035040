// The report of one student, put together of the reports of the files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/class/policy.h"
#include "driver/class/submissions.h"
#include "driver/config.h"
#include "driver/naming.h"
#include "driver/report.h"
#include "wire/exercise.h"

namespace onepass::driver::course {

/// What a class is graded by.
struct Course {
  const Config* config;
  Policy policy;
  Device device;
  std::vector<Named> exercises;                     // asked for
  std::map<std::string, wire::ExerciseInfo> infos;  // of each, by its id
  std::string commit;                               // of the workbook; empty: not known
};

/// Throws BadInput and GraderFault.
Course make_course(const Config& config, const Policy& policy, Device device);

/// The report of a run over one file; nothing where it has not been graded yet.
using FileReport = std::function<std::optional<Json>(const Task& task, std::uint64_t seed)>;

/// As docs/grading.md describes a report, and besides: "student", "submission", "commit", "seeds",
/// "grade", "out_of", "late_seconds", "problem" where nothing could be read. It is complete if all
/// has been graded. With several seeds a check is passed that passes with each.
Json student_report(const Course& course, const Submission& submission, const FileReport& of);

}  // namespace onepass::driver::course

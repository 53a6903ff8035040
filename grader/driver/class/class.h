// `onepass class`: grades the submissions of a class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "driver/config.h"

namespace onepass::driver::course {

struct ClassOptions {
  std::filesystem::path folder;       // of the submissions
  std::filesystem::path out;          // where the results go
  std::filesystem::path csv;          // the table; empty: class.csv in `out`
  std::filesystem::path policy;       // empty: none
  std::string device;                 // as in GradeOptions; empty: the policy's
  std::optional<std::uint64_t> seed;  // in place of the policy's
  std::size_t jobs = 0;               // files graded at once; 0: a processor each
  std::string shard;                  // "3/16": of the students every sixteenth, from the third on
  bool merge = false;                 // grade nothing: the tables, of what has been graded
  std::string container;              // an image to grade each submission in; empty: none
};

/// Returns an exit code of grade.h. Throws BadInput and GraderFault.
int grade_class(const Config& config, const ClassOptions& options);

}  // namespace onepass::driver::course

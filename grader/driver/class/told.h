// What a student is told, whatever it is written as: no path of the instructor's, no seed, no more
// than the policy says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/class/policy.h"
#include "driver/report.h"

namespace onepass::driver::course {

struct ToldCheck {
  std::string name;
  std::string status;
  int todo;
  double score, most;   // under the policy
  std::string message;  // lines; empty where nothing is to be told
};

struct ToldExercise {
  std::string id, title, status;
  double score = 0, most = 0;
  std::vector<std::string> remarks;  // sentences
  std::vector<ToldCheck> checks;     // none where only the score is told
};

struct Told {
  std::string student;
  double grade, out_of;
  std::vector<std::string> remarks;
  std::vector<ToldExercise> exercises;
  std::string figures;  // tables of what was measured; empty: nothing was
};

/// `hidden`: folders whose names are left out of what is told.
Told told(const Json& report, const Policy& policy,
          const std::vector<std::filesystem::path>& hidden);

/// "12", "12.5": with two digits behind the point at most.
std::string points_text(double points);

}  // namespace onepass::driver::course

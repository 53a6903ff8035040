// What a chapter's grader tells the driver of an exercise before anything is graded, and its JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace onepass::wire {

struct CheckInfo {
  std::string name;
  int points = 0;
  int todo = 0;
};

struct ExerciseInfo {
  std::string id;     // "rmsnorm/forward"
  std::string title;  // "The forward pass"
  std::string docs;   // "docs/01_rmsnorm.md, \"1.2 The forward pass\""
  std::vector<CheckInfo> checks;
  bool optional = false;  // it counts from when it is begun
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckInfo, name, points, todo)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExerciseInfo, id, title, docs, checks, optional)

}  // namespace onepass::wire

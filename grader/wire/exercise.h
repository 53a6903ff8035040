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

inline void to_json(nlohmann::json& json, const ExerciseInfo& info) {
  json = {{"id", info.id}, {"title", info.title}, {"docs", info.docs}, {"checks", info.checks}};
  if (info.optional) {
    json["optional"] = true;
  }
}

inline void from_json(const nlohmann::json& json, ExerciseInfo& info) {
  json.at("id").get_to(info.id);
  json.at("title").get_to(info.title);
  json.at("docs").get_to(info.docs);
  json.at("checks").get_to(info.checks);
  info.optional = json.value("optional", false);
}

}  // namespace onepass::wire

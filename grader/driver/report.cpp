#include "driver/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/bad_input.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

bool fails_in(const std::set<int>& todos, const Json& check) {
  return check["status"] != "passed" && todos.count(check["todo"].get<int>()) != 0;
}

Json make_check(const std::string& name, int points, int todo, const std::string& status,
                const std::string& message) {
  return {{"name", name},
          {"status", status},
          {"points", points},
          {"todo", todo},
          {"message", message},
          {"diagnosis", nullptr},
          {"error_over_bound", nullptr},
          {"location", nullptr}};
}

// An exercise is what its first check is that did not pass; "not started" only if all are. Nothing
// is said of an exercise with an ungraded check: the fault must be mended first.
std::string exercise_status(const Json& checks) {
  std::string result = "passed";
  bool all_not_started = !checks.empty();
  for (const Json& check : checks) {
    const std::string status = text(check, "status");
    if (status == "ungraded") {
      return status;
    }
    if (status == "not run") {
      continue;
    }
    all_not_started = all_not_started && status == "not started";
    if (result == "passed" && status != "passed") {
      result = status;
    }
  }
  if (all_not_started) {
    return "not started";
  }
  return result == "not started" ? "failed" : result;
}

}  // namespace

Json make_report(Device device, const std::string& name, std::uint64_t seed) {
  return {{"schema", 1},
          {"complete", false},
          {"device", {{"kind", device_name(device)}, {"name", name}}},
          {"seed", seed},
          {"score", 0},
          {"max_score", 0},
          {"exercises", Json::array()}};
}

Json confinement_report(const process::Layers& layers) {
  return {{"landlock", layers.landlock},
          {"system_calls", layers.system_calls},
          {"gaps", process::gaps(layers)}};
}

Json make_exercise(const wire::ExerciseInfo& info, const std::string& file) {
  Json exercise = {{"id", info.id},
                   {"title", info.title},
                   {"file", file},
                   {"docs", info.docs},
                   {"score", 0},
                   {"max_score", 0},
                   {"status", "ungraded"},
                   {"checks", Json::array()},
                   {"bandwidth", Json::array()},
                   {"traffic", Json::array()},
                   {"notes", Json::array()}};
  if (info.optional) {
    exercise["optional"] = true;
  }
  for (const wire::CheckInfo& check : info.checks) {
    exercise["checks"].push_back(make_check(check.name, check.points, check.todo, "ungraded", ""));
  }
  return exercise;
}

void apply_event(Json& exercise, const Json& event) {
  const std::string kind = text(event, "event");
  Json content = event;
  content.erase("event");
  content.erase("exercise");
  content.erase("launches");  // what is in "gpu_code" comes of them
  if (kind == "traffic" || kind == "bandwidth") {
    exercise[kind].push_back(content);
  } else if (kind == "measurement_failed" || kind == "skipped") {
    exercise["notes"].push_back(content.at("message"));
  } else if (kind == "check") {
    for (Json& check : exercise["checks"]) {
      if (check["name"] == content["name"]) {
        content.erase("points");  // as listed
        check.update(content);
        return;
      }
    }
    throw GraderFault(
        fmt::format("{} has no check \"{}\".", text(exercise, "id"), text(content, "name")));
  }
}

void add_explanation(Json& exercise, const Json& event) {
  for (Json& check : exercise["checks"]) {
    if (check["name"] != event.at("name")) {
      continue;
    }
    check["simulator"] = {{"status", event.at("status")}, {"message", event.at("message")}};
    // The simulator saw the access; the GPU's numbers and guard bands tell what came of it.
    for (const char* key : {"location", "diagnosis"}) {
      if (event.contains(key) && !event.at(key).is_null()) {
        check[key] = event.at(key);
      }
    }
  }
}

bool is_wrong_anywhere(const Json& event) {
  if (event.at("status") != "failed" && event.at("status") != "device error") {
    return false;
  }
  const std::string diagnosis = text(event, "diagnosis");
  return !text(event, "location").empty() || diagnosis == "block-order" ||
         diagnosis == "order-varies" || diagnosis == "no-kernel-launched";
}

void add_objection(Json& exercise, const Json& event, const std::string& replay) {
  Json failed = event;
  failed["replay"] = replay;
  failed["message"] =
      "On this GPU the result came out right, this time. The simulator sees what is wrong all the "
      "same:\n" +
      event.at("message").get<std::string>();
  apply_event(exercise, failed);
  for (const char* measured : {"bandwidth", "traffic"}) {
    exercise[measured] = Json::array();  // of a wrong kernel they mean nothing
  }
}

void set_all_checks(Json& exercise, const std::string& status, const std::string& message,
                    const std::string& location) {
  for (Json& check : exercise["checks"]) {
    check["status"] = status;
    check["message"] = message;
    check["location"] = location.empty() ? Json(nullptr) : Json(location);
  }
}

void set_rest_not_run(Json& exercise) {
  for (Json& check : exercise["checks"]) {
    if (check["status"] == "ungraded" && check["message"] == "") {
      check["status"] = "not run";
    }
  }
}

void set_rest_timed_out(Json& exercise) {
  int timeouts = 0;
  for (Json& check : exercise["checks"]) {
    if (timeouts >= kMostTimeouts && check["status"] != "not run") {
      check = make_check(check["name"], check["points"], check["todo"], "timed out",
                         "Not run, since two checks before this one ran out of time.");
    }
    timeouts += check["status"] == "timed out" ? 1 : 0;
  }
}

void note_begun(Json& exercise, int todo, bool begun) {
  const std::set<std::string> kept = {"passed", "ungraded", "not run", "compile error", "missing"};
  if (!begun) {
    exercise["not_started"].push_back(todo);
  }
  for (Json& check : exercise["checks"]) {
    const std::string status = text(check, "status");
    if (check["todo"] != todo || kept.count(status) != 0) {
      continue;
    }
    if (begun) {
      check["status"] = status == "not started" ? "failed" : status;
    } else {
      check.update({{"status", "not started"},
                    {"message", fmt::format("TODO {} is not started.", todo)},
                    {"diagnosis", "not-started"},
                    {"error_over_bound", nullptr},
                    {"location", nullptr}});
      check.erase("detail");
      check.erase("is_right");
    }
  }
}

void add_conclusion(Json& exercise, const TodoStates& todos, const Conclusion& conclusion) {
  exercise["todos"] = Json::array();
  for (const auto& [todo, state] : todos) {
    exercise["todos"].push_back({{"todo", todo}, {"state", name(state)}});
  }
  exercise["which_todo"] = conclusion.sentence;
  const std::set<int> faulty = in_states(todos, {TodoState::wrong, TodoState::unknown});
  Json& checks = exercise["checks"];
  // Where only checks of right TODOs show a fault, they are what it costs.
  if (!faulty.empty() && std::none_of(checks.begin(), checks.end(),
                                      [&](const Json& check) { return fails_in(faulty, check); })) {
    return;
  }
  for (Json& check : checks) {
    if (fails_in(conclusion.right, check)) {
      check["granted"] = true;
    }
  }
}

void add_fault_elsewhere(Json& exercise, TodoStates todos, const std::set<int>& lines) {
  for (auto& [todo, state] : todos) {
    state = state == TodoState::wrong ? TodoState::unknown : state;  // it fails anyhow
  }
  add_conclusion(exercise, todos, {fault_elsewhere(todos.size(), lines), {}});
  exercise["outside_todos"] = lines;
}

void settle(Json& report) {
  if (report["exercises"].size() == 1) {
    report["exercises"][0].erase("optional");  // it was asked for
  }
  int score = 0;
  int max_score = 0;
  for (Json& exercise : report["exercises"]) {
    int exercise_score = 0;
    int exercise_max = 0;
    for (const Json& check : exercise["checks"]) {
      const int points = check["points"].get<int>();
      exercise_max += points;
      const bool counts = check["status"] == "passed" || check.value("granted", false);
      exercise_score += counts ? points : 0;
    }
    exercise["score"] = exercise_score;
    exercise["max_score"] = exercise_max;
    exercise["status"] = exercise_status(exercise["checks"]);
    if (is_counted(exercise)) {
      score += exercise_score;
      max_score += exercise_max;
    }
  }
  report["score"] = score;
  report["max_score"] = max_score;
}

bool is_counted(const Json& exercise) {
  const std::string status = text(exercise, "status");
  return !exercise.value("optional", false) || (status != "not started" && status != "missing");
}

bool all_passed(const Json& report) {
  const Json& exercises = report["exercises"];
  return std::all_of(exercises.begin(), exercises.end(), [](const Json& exercise) {
    return exercise["status"] == "passed" || !is_counted(exercise);
  });
}

bool has_ungraded(const Json& report) {
  const Json& exercises = report["exercises"];
  return std::any_of(exercises.begin(), exercises.end(),
                     [](const Json& exercise) { return exercise["status"] == "ungraded"; });
}

}  // namespace onepass::driver

#include "driver/class/student_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/grader.h"
#include "driver/printable.h"
#include "driver/text.h"
#include "process/process.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

// Empty where the workbook is no git repository, or none of ours.
std::string commit_of(const fs::path& source) {
  const auto git = [&](const std::vector<std::string>& words) {
    std::vector<std::string> command = {"git", "-C", source.string()};
    command.insert(command.end(), words.begin(), words.end());
    return process::run({command}, 30);
  };
  const process::Result head = git({"rev-parse", "HEAD"});
  if (!head.succeeded()) {
    return "";
  }
  const process::Result changes = git({"status", "--porcelain", "--untracked-files=no"});
  return first_line(head.output) + (changes.output.empty() ? "" : " and changes");
}

bool counts(const Json& check) {
  return check["status"] == "passed" || check.value("granted", false);
}

// What fails with another seed fails.
void take_failures(Json& exercise, const Json& other, std::uint64_t seed) {
  Json& checks = exercise["checks"];
  for (std::size_t i = 0; i < checks.size() && i < other["checks"].size(); ++i) {
    const Json& check = other["checks"][i];
    if (!counts(check) && (counts(checks[i]) || check["status"] == "ungraded")) {
      checks[i] = check;
      checks[i]["seed"] = seed;
    }
  }
  for (const char* found : {"fault", "which_todo"}) {
    if (!exercise.contains(found) && other.contains(found)) {
      exercise[found] = other[found];
    }
  }
}

std::string replay(const Course& course, const Submission& submission, std::uint64_t seed,
                   const std::string& exercise) {
  if (submission.folder.empty()) {
    return "";
  }
  const Config& config = *course.config;
  const auto word = [&](const fs::path& path) {
    return shell_word(shown_path(path, config.source));
  };
  const std::string command =
      fmt::format("{} grade --submission {} --seed {} {}", word(config.build / "onepass"),
                  word(submission.folder), seed, exercise);
  return printable_line(command) == command ? command : "";
}

// Adds the exercise as far as it is graded; false if that is not all.
bool add_exercise(const Course& course, const Submission& submission, const Task& task,
                  const FileReport& of, Json& report) {
  const std::string& id = task.exercise->id;
  Json exercise = make_exercise(course.infos.at(id), task.shown);
  bool complete = true;
  bool first = true;
  if (!submission.fault.empty()) {
    exercise["fault"] = submission.fault;
  } else if (!task.missing.empty()) {
    set_all_checks(exercise, "missing", task.missing, "");
  }
  for (const std::uint64_t seed : course.policy.seeds) {
    if (!task.missing.empty()) {
      break;
    }
    const std::optional<Json> graded = of(task, seed);
    if (!graded) {
      complete = false;
      continue;
    }
    report["device"] = graded->at("device");
    report["confinement"] = graded->at("confinement");
    const Json& found = graded->at("exercises").at(0);
    if (first) {
      exercise = found;
      for (Json& check : exercise["checks"]) {
        check["seed"] = seed;
      }
    } else {
      take_failures(exercise, found, seed);
    }
    first = false;
  }
  if (!complete) {
    set_all_checks(exercise, "ungraded", "Not graded yet.", "");
  }
  for (Json& check : exercise["checks"]) {
    if (check.contains("seed") && !counts(check)) {
      check["replay"] = replay(course, submission, check["seed"].get<std::uint64_t>(), id);
    }
    check.erase("seed");
  }
  report["exercises"].push_back(std::move(exercise));
  return complete;
}

// What the points come to under the policy.
void add_grade(const Policy& policy, Json& report) {
  double grade = 0;
  double most = 0;
  for (const Json& exercise : report["exercises"]) {
    const double weight = policy.weight(exercise["id"]);
    grade += weight * exercise["score"].get<int>();
    most += weight * exercise["max_score"].get<int>();
  }
  const double scale = policy.out_of && most > 0 ? *policy.out_of / most : 1;
  report["grade"] = grade * scale;
  report["out_of"] = policy.out_of.value_or(most);
  report["point_worth"] = scale;
}

}  // namespace

Course make_course(const Config& config, const Policy& policy, Device device) {
  Course course = {&config, policy,
                   device,  exercises_named(config, {policy.exercises, "", ""}),
                   {},      commit_of(config.source)};
  const Chapter* chapter = nullptr;
  for (const Named& named : course.exercises) {
    if (named.chapter != chapter) {
      chapter = named.chapter;
      for (wire::ExerciseInfo& info : list_exercises(*chapter)) {
        const std::string id = info.id;
        course.infos[id] = std::move(info);
      }
    }
    if (course.infos.count(named.exercise->id) == 0) {
      throw GraderFault(
          fmt::format("{} has no checks for {}.", chapter->grader.string(), named.exercise->id));
    }
  }
  std::erase_if(course.exercises, [&](const Named& one) {
    const std::vector<std::string>& wanted = policy.exercises;
    const std::string& id = one.exercise->id;
    return course.infos[id].optional && std::count(wanted.begin(), wanted.end(), id) == 0 &&
           std::count(wanted.begin(), wanted.end(), number_of(one)) == 0;
  });
  return course;
}

Json student_report(const Course& course, const Submission& submission, const FileReport& of) {
  const Device device = course.device;
  Json report = make_report(device, device == Device::cpu ? kSimulatorName : "GPU",
                            course.policy.seeds.front());
  report["student"] = submission.student;
  report["submission"] = printable_line(submission.path.string());
  report["commit"] = course.commit;
  report["seeds"] = course.policy.seeds;
  report["problem"] = submission.problem.empty() ? Json(nullptr) : Json(submission.problem);
  report["late_seconds"] = nullptr;
  if (!course.policy.deadline.empty() && submission.handed_in_at > 0) {
    report["late_seconds"] =
        std::max<std::int64_t>(0, submission.handed_in_at - time_of(course.policy.deadline));
  }
  bool complete = true;
  for (const Task& task : submission.tasks) {
    complete = add_exercise(course, submission, task, of, report) && complete;
  }
  settle(report);
  add_grade(course.policy, report);
  report["complete"] = complete;
  return report;
}

}  // namespace onepass::driver::course

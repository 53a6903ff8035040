#include "tests/corpus/grading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "driver/files.h"
#include "process/process.h"
#include "tests/corpus/aftermath.h"

namespace onepass::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kRepository = ONEPASS_SOURCE_DIR;
const fs::path kDriver = fs::path(ONEPASS_BINARY_DIR) / "onepass";

/// Runs the grader. A hostile entry must leave no process, and the submission as it was.
bool run(const std::vector<std::string>& command, const Entry& entry, const fs::path& submission,
         const fs::path& log, std::string& output) {
  constexpr int kSeconds = 300;
  if (entry.kind != "hostile") {
    const onepass::process::Result result = onepass::process::run({command}, kSeconds);
    output = result.describe() + "\n" + result.output;
    return result.succeeded();
  }
  const Files before = files_below(submission);
  const int code = run_as_a_shell(command, log, kSeconds);
  const int left = count_leftovers();
  std::stringstream said;
  said << std::ifstream(log).rdbuf();
  output = fmt::format("exit code {}, {} processes left behind\n{}{}", code, left,
                       difference(before, files_below(submission)), said.str());
  return code == 0 && left == 0 && files_below(submission) == before;
}

/// The report's object of the entry's exercise. Null, with `output` saying why, if there is none.
json grade(const Entry& entry, int seed, std::string& output) {
  const onepass::driver::ScratchFolder scratch(fs::temp_directory_path());
  const fs::path submission = scratch.path() / "submission";
  onepass::driver::write_file(submission / entry.source, entry.text);
  const fs::path report = scratch.path() / "report.json";
  std::vector<std::string> command = {kDriver.string(),     "grade",      "--submission",
                                      submission.string(),  "--exercise", entry.exercise,
                                      "--device",           device(),     "--seed",
                                      std::to_string(seed), "--report",   report.string(),
                                      "--no-experiments",   "--no-nvcc"};
  if (checks_only()) {
    command.push_back("--checks-only");
  }
  if (entry.status == "timed out") {
    command.insert(command.end(), {"--time-limit", "1"});  // twice, and for nothing
  }
  if (entry.kind == "wrong" && entry.check.empty() && entry.diagnosis != kNone) {
    command.insert(command.end(), {"--until", entry.diagnosis});
  }
  const bool went_well = run(command, entry, submission, scratch.path() / "log", output);
  if (!went_well || !fs::exists(report)) {
    return nullptr;
  }
  return json::parse(std::ifstream(report)).at("exercises").at(0);
}

bool has(const json& check, const char* key, const std::string& value) {
  return check.contains(key) && check.at(key).is_string() && check.at(key) == value;
}

/// Does the entry's list, "this, that", have this word?
bool lists(const std::string& list, const json& word) {
  return word.is_string() &&
         (", " + list + ",").find(", " + word.get<std::string>() + ",") != std::string::npos;
}

/// Is one of the ids named that the entry's mistake only looks like?
bool names_another(const json& exercise, const Entry& entry) {
  const json& checks = exercise.at("checks");
  return std::any_of(checks.begin(), checks.end(), [&](const json& check) {
    return lists(entry.unlike, check.value("diagnosis", json()));
  });
}

/// Does a failing check name the mistake (and is it the check that was meant)? Of one that has no
/// name: is none given?
bool names_mistake(const json& exercise, const Entry& entry) {
  if (entry.diagnosis == kNone) {
    const json& checks = exercise.at("checks");
    return std::all_of(checks.begin(), checks.end(), [](const json& check) {
      return has(check, "status", "passed") || check.value("diagnosis", json()).is_null();
    });
  }
  for (const json& check : exercise.at("checks")) {
    const bool meant = check.at("name").get<std::string>().find(entry.check) == 0;
    if (!has(check, "status", "passed") && meant && has(check, "diagnosis", entry.diagnosis) &&
        check.value("message", "").find(entry.says) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Is a lack of speed all that is said against it? A right kernel need not be fast, and where
/// several share a GPU none of them is.
bool is_only_slow(const json& exercise) {
  const json& checks = exercise.at("checks");
  return std::all_of(checks.begin(), checks.end(), [](const json& check) {
    return has(check, "status", "passed") || has(check, "diagnosis", "slower-than-a-copy");
  });
}

/// The status and diagnosis of each check that did not pass, for the log.
std::string summary(const json& exercise) {
  std::string text = exercise.at("status").get<std::string>();
  for (const json& check : exercise.at("checks")) {
    if (!has(check, "status", "passed")) {
      text +=
          fmt::format("\n    {} [{}] {}: {}", check.at("status").get<std::string>(),
                      check.value("diagnosis", json()).dump(), check.at("name").get<std::string>(),
                      check.value("message", json()).dump());
    }
  }
  return text;
}

/// The least room that any check of the exercise left.
Margin margin_of(const json& exercise, const Entry& entry, int seed) {
  Margin least;
  for (const json& check : exercise.at("checks")) {
    const json ratio = check.value("error_over_bound", json());
    if (ratio.is_number() && ratio.get<double>() > least.error_over_bound) {
      least = {ratio.get<double>(), fmt::format("{}, seed {}, \"{}\"", entry.name, seed,
                                                check.at("name").get<std::string>())};
    }
  }
  return least;
}

/// What is wrong with the verdict on this entry; empty if nothing is.
std::string complaint_on(const Entry& entry, int seed, Margin& margin) {
  std::string output;
  const json exercise = grade(entry, seed, output);
  if (!exercise.is_null()) {
    margin = margin_of(exercise, entry, seed);
  }
  if (exercise.is_null()) {
    return "no report: " + output;
  }
  if (entry.kind == "right" && has(exercise, "status", "failed") && is_only_slow(exercise)) {
    return "";
  }
  if (entry.status != "any" && !lists(entry.status, exercise.at("status")) &&
      !(entry.kind == "wrong" && !has(exercise, "status", "passed") &&
        !has(exercise, "status", "ungraded"))) {
    return "expected " + entry.status + ", got " + summary(exercise);
  }
  if (entry.kind != "right" && entry.status != "passed" && entry.status != "any" &&
      exercise.at("score") == exercise.at("max_score")) {
    return "got the full score";
  }
  if (!entry.diagnosis.empty() && !names_mistake(exercise, entry)) {
    return "no failing check says " + entry.diagnosis + ": " + summary(exercise);
  }
  if (names_another(exercise, entry)) {
    return "a check says one of " + entry.unlike + ": " + summary(exercise);
  }
  return "";
}

}  // namespace

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string device() {
  return environment("ONEPASS_CORPUS_DEVICE", "cpu");
}

bool is_quick() {
  return !environment("ONEPASS_CORPUS_QUICK", "").empty() &&
         environment("ONEPASS_CHECK_ALL", "").empty();
}

bool checks_only() {
  return device() == "cpu" || !environment("ONEPASS_CORPUS_CHECKS_ONLY", "").empty();
}

std::string complaint(const Entry& entry, int seed, bool then_honest, Margin& margin) {
  if (entry.kind != "hostile") {
    return complaint_on(entry, seed, margin);
  }
  const Files before = files_of_workbook(kRepository);
  std::string complaint = complaint_on(entry, seed, margin);
  if (complaint.empty()) {
    complaint = difference(before, files_of_workbook(kRepository));
  }
  if (complaint.empty() && then_honest) {
    Margin ignored;
    complaint = complaint_on(honest(entry, kRepository), seed, ignored);
    complaint = complaint.empty() ? "" : "the honest one after it, or after all: " + complaint;
  }
  return complaint;
}

}  // namespace onepass::corpus

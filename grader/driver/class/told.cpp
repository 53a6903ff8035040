#include "driver/class/told.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/table.h"
#include "driver/text.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

constexpr const char* kNobodysFault =
    "Could not be graded, through no fault of yours: ask your instructor.";

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;) {
    text.erase(at, part.size());
  }
  return text;
}

void add_line(std::string& lines, const std::string& more) {
  if (!more.empty()) {
    lines += (lines.empty() ? "" : "\n") + more;
  }
}

std::string message_of(const Json& check, Shown shown) {
  std::string lines;
  const std::string message = text(check, "message");
  add_line(lines, message);
  const Json detail = check.value("detail", Json::object());
  const std::string expected = text(detail, "expected");
  if (!expected.empty() && message.find(expected) == std::string::npos) {
    add_line(lines, fmt::format("expected {}, got {} at {}", expected, text(detail, "got"),
                                text(detail, "where")));
  }
  add_line(lines, text(detail, "call"));
  const std::string pattern = text(detail, "pattern");
  add_line(lines, message.find(pattern) == std::string::npos ? pattern : "");
  const std::string location = text(check, "location");
  add_line(lines, location.empty() ? "" : "At " + location);
  const std::string output = text(check, "output");
  if (shown >= Shown::output && !output.empty()) {
    add_line(lines, "Your code printed:\n" + output);
  }
  return lines;
}

ToldCheck told_check(const Json& check, double worth, Shown shown) {
  const std::string status = text(check, "status");
  const bool granted = check.value("granted", false);
  const bool passed = status == "passed";
  ToldCheck told = {text(check, "name"),
                    granted ? "granted" : status,
                    check["todo"].get<int>(),
                    0,
                    check["points"].get<int>() * worth,
                    ""};
  told.score = passed || granted ? told.most : 0;
  if (status == "ungraded") {
    told.message = kNobodysFault;
  } else if (!passed && status != "not started" && shown >= Shown::messages) {
    told.message = message_of(check, shown);
  }
  return told;
}

// Is what keeps all checks from passing one thing?
bool has_one_cause(const ToldExercise& told) {
  const bool as_a_whole =
      told.status == "missing" || told.status == "compile error" || told.status == "ungraded";
  return as_a_whole && std::all_of(told.checks.begin(), told.checks.end(), [&](const auto& one) {
           return one.message == told.checks.front().message;
         });
}

ToldExercise told_exercise(const Json& exercise, double worth, Shown shown) {
  ToldExercise told;
  told.id = text(exercise, "id");
  told.title = text(exercise, "title");
  told.status = text(exercise, "status");
  told.score = exercise["score"].get<int>() * worth;
  told.most = exercise["max_score"].get<int>() * worth;
  if (shown == Shown::score) {
    if (told.status == "ungraded") {
      told.remarks.push_back(kNobodysFault);
    }
    return told;
  }
  for (const Json& check : exercise["checks"]) {
    told.checks.push_back(told_check(check, worth, shown));
  }
  if (has_one_cause(told) && !told.checks.front().message.empty()) {
    told.remarks.push_back(told.checks.front().message);
    for (ToldCheck& check : told.checks) {
      check.message.clear();
    }
  }
  if (shown >= Shown::messages) {
    if (const std::string which = text(exercise, "which_todo"); !which.empty()) {
      told.remarks.push_back(which);
    }
    if (told.status != "passed" && told.status != "missing") {
      told.remarks.push_back("Read " + text(exercise, "docs") + ".");
    }
  }
  return told;
}

template <typename Change>
void change_all(Told& told, const Change& change) {
  for (std::string& remark : told.remarks) {
    remark = change(remark);
  }
  for (ToldExercise& exercise : told.exercises) {
    for (std::string& remark : exercise.remarks) {
      remark = change(remark);
    }
    for (ToldCheck& check : exercise.checks) {
      check.message = change(check.message);
    }
  }
}

}  // namespace

Told told(const Json& report, const Policy& policy, const std::vector<fs::path>& hidden) {
  Told result = {text(report, "student"),
                 report["grade"].get<double>(),
                 report["out_of"].get<double>(),
                 {},
                 {},
                 ""};
  if (report.value("complete", false) == false) {
    result.remarks.push_back("Not all has been graded yet.");
  }
  if (const std::string problem = text(report, "problem"); !problem.empty()) {
    result.remarks.push_back(problem);
  }
  if (report["late_seconds"].is_number() && report["late_seconds"].get<double>() > 0) {
    result.remarks.push_back(
        fmt::format("Handed in {:.1f} hours after the deadline, by the date of the files.",
                    report["late_seconds"].get<double>() / 3600));
  }
  const double scale = report.value("point_worth", 1.0);
  for (const Json& exercise : report["exercises"]) {
    const double worth = scale * policy.weight(exercise["id"]);
    result.exercises.push_back(told_exercise(exercise, worth, policy.shown));
    if (!text(report, "problem").empty()) {
      result.exercises.back().remarks.clear();  // it is told already
    }
  }
  if (policy.shown >= Shown::messages) {
    result.figures = traffic_table(report) + bandwidth_table(report);
  }
  change_all(result, [&](std::string text) {
    for (const fs::path& path : hidden) {
      if (path.has_relative_path()) {
        text = without(without(text, path.string() + "/"), path.string());
      }
    }
    return text;
  });
  return result;
}

std::string points_text(double points) {
  std::string text = fmt::format("{:.2f}", points);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

}  // namespace onepass::driver::course

#include "driver/class/exports.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "driver/printable.h"
#include "driver/text.h"

namespace onepass::driver::course {

namespace {

Json gradescope_test(const std::string& name, const std::string& number, bool passed, double score,
                     double most, const std::string& output, const std::string& tag) {
  return {{"name", name},      {"name_format", "text"},
          {"number", number},  {"score", score},
          {"max_score", most}, {"status", passed ? "passed" : "failed"},
          {"output", output},  {"output_format", "text"},
          {"tags", {tag}},     {"visibility", "visible"}};
}

std::string lines_together(const std::vector<std::string>& remarks) {
  std::string lines;
  for (const std::string& remark : remarks) {
    lines += remark + "\n";
  }
  return lines;
}

// XML 1.0 has no control characters, not even as entities.
std::string in_xml(const std::string& text) {
  std::string escaped;
  for (const char c : in_html(text)) {
    escaped += c == '\n'   ? "&#10;"
               : c == '\t' ? " "
                           : std::string(1, static_cast<unsigned char>(c) < 32 ? '?' : c);
  }
  return escaped;
}

// Wrong is a failure; what did not come to an answer is an error.
std::string junit_element(const std::string& status) {
  const std::set<std::string> failures = {"failed", "not started", "missing"};
  return status == "ungraded" || status == "not run" ? "skipped"
         : failures.count(status) != 0               ? "failure"
                                                     : "error";
}

}  // namespace

Json gradescope_results(const Told& told) {
  Json results = {{"score", told.grade},
                  {"output", fmt::format("{} of {}\n{}", points_text(told.grade),
                                         points_text(told.out_of), lines_together(told.remarks))},
                  {"output_format", "text"},
                  {"visibility", "visible"},
                  {"stdout_visibility", "hidden"},
                  {"tests", Json::array()}};
  int number = 0;
  for (const ToldExercise& exercise : told.exercises) {
    const std::string place = fmt::format("{}", ++number);
    const std::string remarks = lines_together(exercise.remarks);
    if (exercise.checks.empty()) {
      results["tests"].push_back(gradescope_test(exercise.id, place, exercise.status == "passed",
                                                 exercise.score, exercise.most, remarks,
                                                 exercise.id));
      continue;
    }
    int check_number = 0;
    bool remarked = exercise.status == "passed";
    for (const ToldCheck& check : exercise.checks) {
      std::string output = check.message;
      if (check.status != "passed" && !remarked) {
        output += (output.empty() ? "" : "\n") + remarks;
        remarked = true;
      }
      results["tests"].push_back(gradescope_test(
          exercise.id + ": " + check.name, fmt::format("{}.{}", place, ++check_number),
          check.status == "passed" || check.status == "granted", check.score, check.most, output,
          exercise.id));
    }
  }
  return results;
}

std::string junit_suite(const Json& report) {
  std::string cases;
  int tests = 0;
  std::map<std::string, int> counts;
  for (const Json& exercise : report["exercises"]) {
    for (const Json& check : exercise["checks"]) {
      ++tests;
      const std::string status = text(check, "status");
      cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                           in_xml(text(exercise, "id")), in_xml(text(check, "name")));
      if (status == "passed" || check.value("granted", false)) {
        cases += "/>\n";
        continue;
      }
      const std::string element = junit_element(status);
      ++counts[element];
      const std::string message = in_xml(text(check, "message"));
      cases += element == "skipped"
                   ? fmt::format("><skipped message=\"{}\"/></testcase>\n", message)
                   : fmt::format("><{0} type=\"{1}\" message=\"{2}\"/></testcase>\n", element,
                                 in_xml(status), message);
    }
  }
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}"
      "  </testsuite>\n",
      in_xml(text(report, "student")), tests, counts["failure"], counts["error"], counts["skipped"],
      cases);
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    std::string safe = field;
    if (!field.empty() && std::string("=+-@\t\r").find(field.front()) != std::string::npos) {
      safe = "'" + field;
    }
    const bool quoted = safe.find_first_of(",\"\r\n") != std::string::npos;
    std::string doubled;
    for (const char c : safe) {
      doubled += c == '"' ? "\"\"" : std::string(1, c);
    }
    line += (line.empty() && &field == &fields.front() ? "" : ",") +
            (quoted ? "\"" + doubled + "\"" : safe);
  }
  return line + "\r\n";
}

std::vector<std::string> csv_heading(const std::vector<std::string>& exercises) {
  std::vector<std::string> fields = {"student", "grade",      "out_of", "points",
                                     "passed",  "late_hours", "status", "remark"};
  fields.insert(fields.end(), exercises.begin(), exercises.end());
  return fields;
}

std::vector<std::string> csv_fields(const Json& report) {
  int passed = 0;
  std::vector<std::string> points;
  for (const Json& exercise : report["exercises"]) {
    passed += exercise["status"] == "passed" ? 1 : 0;
    points.push_back(text(exercise, "score"));
  }
  const Json& late = report["late_seconds"];
  std::vector<std::string> fields = {
      text(report, "student"),
      // What is not all known is none: somebody imports this.
      status_of(report) == "complete" ? points_text(report["grade"].get<double>()) : "",
      points_text(report["out_of"].get<double>()), text(report, "score"), fmt::format("{}", passed),
      late.is_number() ? fmt::format("{:.1f}", late.get<double>() / 3600) : "", status_of(report),
      text(report, "problem")};
  fields.insert(fields.end(), points.begin(), points.end());
  return fields;
}

std::string status_of(const Json& report) {
  return !report["complete"].get<bool>() ? "not graded yet"
         : has_ungraded(report)          ? "ungraded"
                                         : "complete";
}

}  // namespace onepass::driver::course

#include "driver/class/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "driver/class/exports.h"
#include "driver/class/feedback.h"
#include "driver/class/told.h"
#include "driver/files.h"
#include "driver/text.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string remark_on(const Json& report) {
  std::vector<std::string> remarks;
  if (const std::string status = status_of(report); status != "complete") {
    remarks.push_back(status);
  }
  if (!text(report, "problem").empty()) {
    remarks.push_back(text(report, "problem"));
    return fmt::format("{}", fmt::join(remarks, ", "));
  }
  const Json& late = report["late_seconds"];
  if (late.is_number() && late.get<double>() > 0) {
    remarks.push_back(fmt::format("{:.1f} h late", late.get<double>() / 3600));
  }
  std::map<std::string, int> counted;
  for (const Json& exercise : report["exercises"]) {
    ++counted[text(exercise, "status")];
  }
  for (const char* status : {"missing", "compile error", "crashed", "timed out"}) {
    if (counted[status] > 0) {
      remarks.push_back(fmt::format("{} {}", counted[status], status));
    }
  }
  return fmt::format("{}", fmt::join(remarks, ", "));
}

}  // namespace

Results::Results(const Course& course, fs::path out, fs::path csv, std::vector<fs::path> hidden)
    : course_(course),
      out_(std::move(out)),
      csv_(csv.empty() ? out_ / "class.csv" : std::move(csv)),
      hidden_(std::move(hidden)) {
  std::vector<std::string> exercises;
  for (const Named& named : course.exercises) {
    exercises.push_back(named.exercise->id);
  }
  csv_lines_ = csv_line(csv_heading(exercises));
}

void Results::write_student(const Json& report) const {
  const std::string student = text(report, "student");
  const Told what = told(report, course_.policy, hidden_);
  write_file(out_ / "reports" / (student + ".json"), dumped(report));
  write_file(out_ / "feedback" / (student + ".md"), feedback_markdown(what));
  write_file(out_ / "feedback" / (student + ".html"), feedback_html(what));
  write_file(out_ / "gradescope" / (student + ".json"), dumped(gradescope_results(what)));
}

void Results::add(const Json& report) {
  csv_lines_ += csv_line(csv_fields(report));
  junit_ += junit_suite(report);
  int passed = 0;
  for (const Json& exercise : report["exercises"]) {
    const bool is_passed = exercise["status"] == "passed";
    passed += is_passed ? 1 : 0;
    passed_[exercise["id"]] += is_passed ? 1 : 0;
  }
  rows_.push_back({text(report, "student"), points_text(report["grade"].get<double>()),
                   fmt::format("{} of {}", passed, report["exercises"].size()), remark_on(report)});
  if (report["complete"].get<bool>()) {
    grades_.push_back(report["grade"].get<double>());
  } else {
    ++not_graded_yet_;
  }
  has_ungraded_ = has_ungraded_ || driver::has_ungraded(report);
}

void Results::write_tables() const {
  write_file(csv_, csv_lines_);
  write_file(out_ / "junit.xml", kJunitBegin + junit_ + kJunitEnd);
}

std::string Results::table() const {
  std::size_t width = 7;
  for (const Row& row : rows_) {
    width = std::max(width, row.student.size());
  }
  std::string text = fmt::format("{:<{}}  {:>7}  {:>8}\n", "student", width, "grade", "passed");
  for (const Row& row : rows_) {
    text += fmt::format("{:<{}}  {:>7}  {:>8}{}{}\n", row.student, width, row.grade, row.passed,
                        row.remark.empty() ? "" : "  ", row.remark);
  }
  width = 8;
  for (const Named& named : course_.exercises) {
    width = std::max(width, named.exercise->id.size());
  }
  text += fmt::format("\n{:<{}}  passed by\n", "exercise", width);
  for (const Named& named : course_.exercises) {
    const std::string& id = named.exercise->id;
    const auto found = passed_.find(id);
    text += fmt::format("{:<{}}  {:>9}\n", id, width, found == passed_.end() ? 0 : found->second);
  }
  if (!grades_.empty()) {
    std::vector<double> sorted = grades_;
    std::sort(sorted.begin(), sorted.end());
    const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    text +=
        fmt::format("\n{}: mean {}, median {}\n",
                    grades_.size() == 1 ? "1 student" : fmt::format("{} students", grades_.size()),
                    points_text(sum / static_cast<double>(sorted.size())),
                    points_text(sorted[sorted.size() / 2]));
  }
  return text;
}

}  // namespace onepass::driver::course

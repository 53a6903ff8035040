#include "driver/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "driver/next_step.h"
#include "driver/paint.h"
#include "driver/show_failures.h"
#include "driver/table.h"
#include "driver/tell_apart.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// Was the run stopped before it came to its end?
bool is_interrupted(const Json& report) {
  return !report.value("complete", true);
}

// Why the exercise is ungraded. Empty if it is not, or if nothing went wrong, but the run was
// stopped before its checks were done.
std::string fault_of(const Json& exercise, bool stopped) {
  if (!text(exercise, "fault").empty()) {
    return text(exercise, "fault");
  }
  for (const Json& check : exercise["checks"]) {
    const bool not_reached = stopped && text(check, "message").empty();
    if (text(check, "status") == "ungraded" && !not_reached) {
      return text(check, "name") + ": " + text(check, "message");
    }
  }
  return "";
}

// What the simulator finds doubtful, whether or not the check passed: each once, and not what the
// failure that is told in full has said.
void write_warnings(Out out, const Json& exercise, Style style) {
  std::set<std::string> seen;
  const std::vector<const Json*> failed = failures(exercise);
  for (const Json& check : exercise["checks"]) {
    for (const Json& warning : check.value("warnings", Json::array())) {
      const auto [text, is_new] = seen.insert(warning.get<std::string>());
      if (is_new && (failed.empty() || !is_told_by(*failed.front(), *text))) {
        const std::string first = first_line(*text);
        fmt::format_to(out, "\n  {} {}\n", painted("warning:", kYellow, style), first);
        write_indented(out, text->substr(std::min(text->size(), first.size() + 1)));
      }
    }
  }
}

// A full disk, say, stops many exercises: it is told once.
void write_fault(Out out, const std::string& fault, bool is_new) {
  if (is_new) {
    fmt::format_to(out, "\n  This is a fault of the grader or of the machine, not yours:\n");
    write_indented(out, fault);
  } else {
    fmt::format_to(out, "\n  The same fault of the grader or of the machine.\n");
  }
}

// The points of checks that did not pass, and whose TODO is right.
int granted_points(const Json& exercise) {
  int points = 0;
  for (const Json& check : exercise["checks"]) {
    points += check.value("granted", false) ? check["points"].get<int>() : 0;
  }
  return points;
}

// What experiments have found out, and what it changes in the score.
void write_which_todo(Out out, const Json& report, Style style) {
  std::string found;
  for (const Json& exercise : report["exercises"]) {
    const std::string sentence = text(exercise, "which_todo");
    if (sentence.empty()) {
      continue;
    }
    const int granted = granted_points(exercise);
    fmt::format_to(
        Out(found), "  {}: {}{}\n", painted(text(exercise, "id"), kBold, style), sentence,
        granted == 0 ? "" : fmt::format(" That gives {} more.", counted(granted, "point")));
  }
  if (!found.empty()) {
    fmt::format_to(out, "\nWhich TODO?\n{}", found);
  }
}

void write_heading(Out out, const Json& report) {
  const Json& device = report["device"];
  const std::string name =
      text(device, "kind") == "cpu" ? "the CPU simulator" : text(device, "name");
  fmt::format_to(out, "One Pass on {}, seed {}\n\n", name, text(report, "seed"));
  const Json gaps = report.value("confinement", Json::object()).value("gaps", Json::array());
  for (const Json& gap : gaps) {
    fmt::format_to(out, "Not all that confines a submission is there. {}\n",
                   gap.get<std::string>());
  }
  fmt::format_to(out, "{}", gaps.empty() ? "" : "\n");
}

// A line each. Beside a failure, those of a long list that are as they were given are counted only:
// the failure is to fit on a screen.
void write_exercises(Out out, const Json& report, Style style) {
  constexpr std::size_t kLongList = 10;
  const Json& exercises = report["exercises"];
  std::size_t width = 0;
  bool any_failed = false;
  for (const Json& exercise : exercises) {
    width = std::max(width, text(exercise, "id").size());
    any_failed =
        any_failed || !(exercise["status"] == "passed" || exercise["status"] == "not started");
  }
  const bool is_short = any_failed && exercises.size() > kLongList && !style.all;
  const bool stopped = is_interrupted(report);
  int left_out = 0;
  for (const Json& exercise : exercises) {
    std::string status = text(exercise, "status");
    if (status == "ungraded" && fault_of(exercise, stopped).empty()) {
      status = "interrupted";
    }
    if (is_short && status == "not started") {
      ++left_out;
      continue;
    }
    fmt::format_to(out, "{:<{}}  {:>3} of {:<3} {}  {}\n", text(exercise, "id"), width,
                   text(exercise, "score"), text(exercise, "max_score"),
                   painted(fmt::format("{:<13}", status), color_of(status), style),
                   text(exercise, "title"));
  }
  if (left_out > 0) {
    fmt::format_to(out, "and {} not started\n", left_out);
  }
}

void write_details(Out out, const Json& report, Style style) {
  const bool stopped = is_interrupted(report);
  std::set<std::string> faults;
  bool has_failed = false;  // the first that has is told in full: one goes after the other anyway
  for (const Json& exercise : report["exercises"]) {
    std::string details;
    if (const std::string fault = fault_of(exercise, stopped); !fault.empty()) {
      write_fault(Out(details), fault, faults.insert(fault).second);
    }
    std::string failed;
    write_failures(Out(failed), exercise, style, !has_failed);
    has_failed = has_failed || !failed.empty();
    details += failed;
    write_warnings(Out(details), exercise, style);
    write_what_was_printed(Out(details), exercise, style);
    if (!details.empty()) {
      fmt::format_to(out, "\n{}\n{}", painted(text(exercise, "id"), kBold, style), details);
    }
  }
}

// What is wasted where, each line once though several shapes were measured. The table of lines is
// of the first of them, and advice on another says so.
void write_advice(Out out, const Json& exercise) {
  std::set<std::string> told;
  for (const Json& entry : exercise["traffic"]) {
    const bool in_table = &entry == &exercise["traffic"].front();
    const std::string shape = in_table ? "" : ", in " + text(entry, "dtype") + ",";
    for (const Json& line : entry.value("lines", Json::array())) {
      const std::string advice = text(line, "advice");
      if (!advice.empty() && told.insert(place(line)).second) {
        fmt::format_to(out, "\n  {}{} {}\n", place(line), shape, advice);
      }
    }
  }
}

// What each line of the student's moves: for a single exercise, or where it is asked for.
void write_lines(Out out, const Json& report, Style style) {
  for (const Json& exercise : report["exercises"]) {
    if (style.lines || report["exercises"].size() == 1) {
      for (const Json& entry : exercise["traffic"]) {
        fmt::format_to(out, "{}", lines_table(exercise, entry));
        if (!style.lines) {
          break;  // the other shapes have much the same to tell
        }
      }
    }
    write_advice(out, exercise);
  }
}

// The TODO of the failure that is told first, or what is known of where its fault is.
std::string what_to_open_next(const Json& report) {
  if (is_interrupted(report)) {
    return "Interrupted: this is what was known by then.";
  }
  for (const Json& exercise : report["exercises"]) {
    const std::optional<NextStep> next = next_step(exercise);
    if (!next || !is_counted(exercise)) {
      continue;
    }
    const std::string status = text(*next->check, "status");
    if (status == "compile error") {
      return fmt::format("Open next: {}, which does not compile",
                         compile_error_at(exercise, *next->check));
    }
    if (status == "missing") {
      return fmt::format("Bring back next: {}", text(exercise, "file"));
    }
    const std::string open = "Open next: " + text(exercise, "file");
    if (exercise.contains("outside_todos")) {
      return fmt::format("{}:{}, outside the TODOs", open,
                         exercise["outside_todos"].front().get<int>());
    }
    return fmt::format("{}{}", open,
                       next->is_known ? fmt::format(", TODO {}", next->todo)
                                      : fmt::format(" (a check of TODO {} failed)", next->todo));
  }
  return has_ungraded(report) ? "Not everything could be graded." : "All passed.";
}

}  // namespace

Style style_for(int file_descriptor) {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string(terminal) == "dumb";
  const bool wanted = is_set("CLICOLOR_FORCE") || (isatty(file_descriptor) == 1 && !dumb);
  return {wanted && !is_set("NO_COLOR")};
}

std::string render_verdict(const Json& report, Style style) {
  std::string result;
  const Out out(result);
  write_heading(out, report);
  write_exercises(out, report, style);
  write_details(out, report, style);
  return result;
}

std::string render_figures(const Json& report, Style style) {
  std::string result = traffic_table(report);
  const Out out(result);
  write_lines(out, report, style);
  result += bandwidth_table(report);
  result += measurement_notes(report);
  return result;
}

std::string render_end(const Json& report, Style style) {
  std::string result;
  const Out out(result);
  write_which_todo(out, report, style);
  int granted = 0;
  for (const Json& exercise : report["exercises"]) {
    granted += granted_points(exercise);
  }
  fmt::format_to(
      out, "\n{}{}\n{}\n",
      painted(fmt::format("Score: {} of {}", text(report, "score"), text(report, "max_score")),
              kBold, style),
      granted == 0 ? ""
                   : fmt::format(", {} for checks that passed and {} for TODOs that are right",
                                 report["score"].get<int>() - granted, granted),
      what_to_open_next(report));
  return result;
}

}  // namespace onepass::driver

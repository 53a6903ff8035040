#include "driver/show_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr int kNamed = 4;                  // failed checks of an exercise that are told by name
constexpr std::size_t kPrintedLines = 10;  // of a check that are shown

std::string worth(const Json& check) {
  return counted(check["points"].get<int>(), "point");
}

// "1.07", "412", "81234", "2.5e+09": three digits tell enough.
std::string ratio_text(double ratio) {
  return ratio >= 100 && ratio < 1e6 ? fmt::format("{:.0f}", ratio) : fmt::format("{:.3g}", ratio);
}

// What was to come out, what came out, and how far that is off.
std::string comparison(const Json& check, const Json& detail) {
  std::string line;
  if (!text(detail, "expected").empty()) {
    line = fmt::format("expected {}, got {} at {}", text(detail, "expected"), text(detail, "got"),
                       text(detail, "where"));
  }
  const auto ratio = check.find("error_over_bound");
  if (ratio != check.end() && ratio->is_number()) {
    line += fmt::format("{}{} times over the bound", line.empty() ? "" : ", ",
                        ratio_text(ratio->get<double>()));
  }
  return line;
}

// What the student's code printed: its beginning, for it may be a line a thread.
void write_output(Out out, const std::string& output, Style style) {
  if (output.empty()) {
    return;
  }
  const std::vector<std::string> lines = lines_of(output);
  const std::size_t shown = style.all ? lines.size() : std::min(lines.size(), kPrintedLines);
  write_indented(out, "Your code printed:");
  for (std::size_t i = 0; i < shown; ++i) {
    write_indented(out, lines[i]);
  }
  if (shown < lines.size()) {
    write_indented(out, fmt::format("and {}: --all tells all",
                                    counted(static_cast<int>(lines.size() - shown), "more line")));
  }
}

void write_failure(Out out, const Json& check, const Json& exercise, Style style) {
  const std::string status = text(check, "status");
  fmt::format_to(out, "\n  {} {} (TODO {}, {})\n", painted(status + ":", color_of(status), style),
                 painted(text(check, "name"), kBold, style), text(check, "todo"), worth(check));
  const std::string message = text(check, "message");
  const Json detail = check.value("detail", Json::object());
  write_indented(out, message);
  // The message may tell the numbers and the pattern already.
  const auto told = [&](const std::string& part) {
    return message.find(part) != std::string::npos;
  };
  if (!told(text(detail, "expected"))) {
    write_indented(out, comparison(check, detail));
  }
  write_indented(out, text(detail, "call"));
  write_indented(out, told(text(detail, "pattern")) ? "" : text(detail, "pattern"));
  const auto simulator = check.find("simulator");
  if (simulator != check.end() && !told(text(*simulator, "message"))) {
    write_indented(out, "On the simulator: " + text(*simulator, "message"));
  }
  write_output(out, text(check, "output"), style);
  if (!text(check, "location").empty()) {
    write_indented(out, "At " + text(check, "location"));
  }
  const std::string docs =
      text(check, "docs").empty() ? text(exercise, "docs") : text(check, "docs");
  write_indented(out, fmt::format("Read {}", docs));
  if (!text(check, "replay").empty()) {
    write_indented(out, painted("Replay: " + text(check, "replay"), kDim, style));
  }
}

// What concerns the whole file is told once, not for each check.
void write_file_error(Out out, const Json& exercise, bool is_there) {
  const Json& check = exercise["checks"].front();
  fmt::format_to(out, "\n  {}{}\n", is_there ? compile_error_at(exercise, check) + ": " : "",
                 text(check, "message"));
}

// The TODOs that nothing was done for yet: those that the file's text shows without code, or, where
// that does not say, those of which no check has found anything.
std::set<int> not_started(const Json& exercise) {
  if (exercise.contains("not_started")) {
    return exercise["not_started"].get<std::set<int>>();
  }
  std::set<int> todos;
  for (const Json& check : exercise["checks"]) {
    if (check["status"] != "not started") {
      return {};
    }
    todos.insert(check["todo"].get<int>());
  }
  return todos;
}

// A line for each of these TODOs with checks that are still to be passed.
void write_not_started(Out out, const Json& exercise, const std::set<int>& todos, Style style) {
  for (const int todo : todos) {
    int checks = 0;
    int points = 0;
    for (const Json& check : exercise["checks"]) {
      const bool counts = check["todo"] == todo && check["status"] == "not started";
      checks += counts ? 1 : 0;
      points += counts ? check["points"].get<int>() : 0;
    }
    if (checks > 0) {
      fmt::format_to(out, "\n  {} TODO {} ({}, {})\n",
                     painted("not started:", color_of("not started"), style), todo,
                     counted(checks, "check"), counted(points, "point"));
    }
  }
}

bool has_cause(const Json& check) {
  const std::string diagnosis = text(check, "diagnosis");
  return (!diagnosis.empty() && diagnosis != "not-started") || !text(check, "location").empty();
}

/// What is too slow, or moves too much, comes behind what is wrong.
bool is_right(const Json& check) {
  return check.value("is_right", false);
}

}  // namespace

std::vector<const Json*> failures(const Json& exercise) {
  std::vector<const Json*> failed;
  for (const Json& check : exercise["checks"]) {
    const std::string status = text(check, "status");
    if (status != "passed" && status != "ungraded") {
      failed.push_back(&check);
    }
  }
  const auto first_right = std::stable_partition(failed.begin(), failed.end(),
                                                 [](const auto* c) { return !is_right(*c); });
  const auto end = first_right == failed.begin() ? failed.end() : first_right;
  const auto root =
      std::find_if(failed.begin(), end, [](const Json* check) { return has_cause(*check); });
  if (root != end) {
    std::rotate(failed.begin(), root, root + 1);
  }
  return failed;
}

void write_what_was_printed(Out out, const Json& exercise, Style style) {
  const std::vector<const Json*> failed = failures(exercise);
  if (!failed.empty() && !text(*failed.front(), "output").empty()) {
    return;  // it is told with that
  }
  for (const Json& check : exercise["checks"]) {
    if (!text(check, "output").empty()) {
      fmt::format_to(out, "\n  In the check \"{}\":\n", text(check, "name"));
      write_output(out, text(check, "output"), style);
      return;  // in other checks it is the same code
    }
  }
}

std::string compile_error_at(const Json& exercise, const Json& check) {
  const std::string location = text(check, "location");
  return location.empty() ? text(exercise, "file") : location;
}

void write_failures(Out out, const Json& exercise, Style style, bool in_full) {
  const std::string status = text(exercise, "status");
  if (status == "compile error" || status == "missing") {
    write_file_error(out, exercise, status != "missing");
    return;
  }
  if (status == "not started") {
    return;  // as it was given: that is no failure
  }
  const std::set<int> untouched = not_started(exercise);
  const int named = in_full ? kNamed : 1;
  int failed = 0;
  for (const Json* failure : failures(exercise)) {
    const Json& check = *failure;
    const std::string state = text(check, "status");
    if (state == "not started" && untouched.count(check["todo"].get<int>()) != 0) {
      continue;  // still to come
    }
    ++failed;
    if (style.all || (failed == 1 && in_full)) {
      write_failure(out, check, exercise, style);
    } else if (failed <= named) {
      fmt::format_to(out, "{}  {} {} (TODO {}, {})\n", failed == 1 ? "\n" : "",
                     painted(state + ":", color_of(state), style), text(check, "name"),
                     text(check, "todo"), worth(check));
    }
  }
  if (failed > named && !style.all) {
    fmt::format_to(out, "  and {} more: --all tells all\n", failed - named);
  }
  write_not_started(out, exercise, untouched, style);
}

}  // namespace onepass::driver

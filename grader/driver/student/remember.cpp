#include "driver/student/remember.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/cache.h"
#include "driver/figures.h"
#include "driver/next_step.h"
#include "driver/student/notebook.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// One of the two things that are measured, of an exercise's first shape.
struct Kind {
  const char* key;  // in the report
  Figure figure;
  const char* unit;
  bool less_is_better;
  Measured Note::*kept;
};

const Kind kKinds[] = {
    {"traffic",
     {"", "/student/requested_bytes", "elements", 2},
     "bytes an element",
     true,
     &Note::traffic},
    {"bandwidth", {"", "/student_gbs"}, "GB/s", false, &Note::bandwidth},
};

std::string number(const Kind& kind, double value) {
  return fmt::format("{:.{}f}", value, kind.figure.decimals);
}

bool is_better(const Kind& kind, double one, double other) {
  return kind.less_is_better ? one < other : one > other;
}

// Notes the figure. Says how it differs from the last one by more than a time does that is taken
// twice.
std::string note_measured(const Kind& kind, const Json& exercise, Note& note) {
  constexpr double kSame = 0.01;
  const Json& entries = exercise[kind.key];
  const double value = entries.empty() ? 0 : value_of(entries.front(), kind.figure);
  if (value <= 0) {
    return "";
  }
  const Json& entry = entries.front();
  const std::string shape =
      fmt::format("{} x {} {}", text(entry, "rows"), text(entry, "cols"), text(entry, "dtype"));
  Measured& kept = note.*kind.kept;
  if (kept.shape != shape) {
    kept = {shape, value, value};
    return "";
  }
  const Measured before = kept;
  kept.last = value;
  kept.best = is_better(kind, value, kept.best) ? value : kept.best;
  if (std::abs(value - before.last) <= kSame * before.last) {
    return "";
  }
  return fmt::format("{} -> {} {}{}", number(kind, before.last), number(kind, value), kind.unit,
                     is_better(kind, value, before.best)
                         ? ", the best so far"
                         : fmt::format(", the best was {}", number(kind, before.best)));
}

std::vector<wire::CheckInfo> checks_of(const Json& exercise) {
  std::vector<wire::CheckInfo> checks;
  for (const Json& check : exercise["checks"]) {
    checks.push_back({text(check, "name"), check["points"].get<int>(), check["todo"].get<int>()});
  }
  return checks;
}

// Returns what is different.
std::vector<std::string> note_grading(const Json& exercise, const std::string& source, Note& note) {
  std::vector<std::string> changes;
  const std::string now = fingerprint(source);
  const bool passed = exercise["status"] == "passed";
  if (!passed && note.status == "passed" && note.graded_text != now) {
    changes.push_back("it passed before, and was broken by the last change");
  }
  const std::optional<NextStep> next = next_step(exercise);
  note.status = text(exercise, "status");
  note.score = exercise["score"];
  note.todo = next ? next->todo : 0;
  const bool is_mistake = next && text(*next->check, "status") != "not started";
  note.diagnosis = is_mistake ? text(*next->check, "diagnosis") : "";
  note.graded_text = now;
  note.checks = fingerprint_of_checks(checks_of(exercise));
  note.passed_text = passed ? now : note.passed_text;
  for (const Kind& kind : kKinds) {
    changes.push_back(note_measured(kind, exercise, note));
  }
  changes.erase(std::remove(changes.begin(), changes.end(), ""), changes.end());
  return changes;
}

}  // namespace

std::string remember(const Config& config, const std::vector<Task>& tasks, const Json& report) {
  std::string told;
  change_notebook(config, [&](Notebook& notebook) {
    const Json& exercises = report["exercises"];
    for (std::size_t i = 0; i < exercises.size(); ++i) {
      if (exercises[i]["status"] == "ungraded") {
        continue;
      }
      const std::string id = text(exercises[i], "id");
      for (const std::string& change : note_grading(exercises[i], tasks[i].source, notebook[id])) {
        told += fmt::format("  {}: {}.\n", id, change);
      }
    }
  });
  return told;
}

std::string told_measured(const Note& note) {
  for (const Kind& kind : {kKinds[1], kKinds[0]}) {
    const Measured& kept = note.*kind.kept;
    if (kept.last > 0) {
      return fmt::format(
          "{} {}{}", number(kind, kept.last), kind.unit,
          kept.last == kept.best ? "" : fmt::format(" (best {})", number(kind, kept.best)));
    }
  }
  return "";
}

}  // namespace onepass::driver

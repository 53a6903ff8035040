#include "driver/student/hints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <set>

#include "driver/bad_input.h"
#include "driver/student/overview.h"
#include "driver/student/page.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// The TODOs that a line begins the part of; none if it goes on with the last part.
std::set<int> todos_begun_by(const std::string& line) {
  static const std::regex begin(R"((?:\*\*|\s*// )TODO (\d+)(?: and (\d+))?\b.*)");
  std::smatch match;
  std::set<int> todos;
  if (std::regex_match(line, match, begin)) {
    for (std::size_t i = 1; i < match.size() && match[i].matched; ++i) {
      todos.insert(std::stoi(match[i]));
    }
  }
  return todos;
}

int todo_of(const HintOptions& options, const Standing& standing) {
  std::set<int> known;
  for (const wire::CheckInfo& check : standing.info.checks) {
    known.insert(check.todo);
  }
  const int todo = options.todo != 0 ? options.todo : standing.todo;
  if (todo == 0 && !known.empty()) {
    return *known.begin();
  }
  if (known.count(todo) == 0) {
    throw BadInput(fmt::format("{} has TODO {}, and no TODO {}.", standing.info.id,
                               fmt::join(known, ", "), todo));
  }
  return todo;
}

std::string told(const Standing& standing, int todo, const std::vector<Hint>& hints,
                 std::size_t number) {
  const Hint& hint = hints[number - 1];
  return fmt::format("{}, TODO {}, hint {} of {}: {}\n\n{}\n", standing.info.id, todo, number,
                     hints.size(), hint.title,
                     as_text(part_for(todo, hint.markdown), reading_width()));
}

}  // namespace

std::vector<Hint> hints_in(const std::string& section) {
  static const std::regex summary(R"(<details><summary>Hint \d+: (.*)</summary>)");
  std::vector<Hint> hints;
  bool inside = false;
  for (const std::string& line : lines_of(section)) {
    std::smatch match;
    if (std::regex_match(line, match, summary)) {
      hints.push_back({match[1], ""});
      inside = true;
    } else if (line == "</details>") {
      inside = false;
    } else if (inside) {
      hints.back().markdown += line + "\n";
    }
  }
  return hints;
}

std::string part_for(int todo, const std::string& markdown) {
  std::string part;
  bool wanted = true;
  bool found = false;
  for (const std::string& line : lines_of(markdown)) {
    const std::set<int> begun = todos_begun_by(line);
    if (!begun.empty()) {
      wanted = begun.count(todo) != 0;
      found = found || wanted;
    } else if (line.rfind("```", 0) == 0) {
      wanted = true;  // a block's beginning and end, and what follows on it
    }
    part += wanted ? line + "\n" : "";
  }
  return found ? part : markdown;
}

std::string open_hint(const Config& config, const HintOptions& options) {
  const std::vector<Standing> all = standings(config);
  const Standing& standing = standing_named(config, all, options.exercise);
  const int todo = todo_of(options, standing);
  const std::vector<Hint> hints = hints_in(section_named(config, standing.info.docs));
  if (hints.empty()) {
    throw GraderFault(fmt::format("There are no hints in {}.", standing.info.docs));
  }
  const std::string key = fmt::format("{}", todo);
  const auto known = standing.note.hints.find(key);
  const int count = known == standing.note.hints.end() ? 0 : known->second;
  const auto opened =
      static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(hints.size())));
  const std::string command =
      fmt::format("{} hint {} {}", program_of(config), standing.number, todo);
  const std::string last =
      fmt::format("That was the last. Read {}, from its beginning.\n", standing.info.docs);
  if (options.again || opened == hints.size()) {
    std::string text;
    for (std::size_t number = 1; number <= opened; ++number) {
      text += told(standing, todo, hints, number);
    }
    return opened == 0 ? fmt::format("No hint is open for TODO {} of {}: {} opens the first.\n",
                                     todo, standing.info.id, command)
                       : text + (opened == hints.size() ? last : "");
  }
  change_notebook(config, [&](Notebook& notebook) {
    notebook[standing.info.id].hints[key] = static_cast<int>(opened + 1);
  });
  return told(standing, todo, hints, opened + 1) +
         (opened + 1 < hints.size()
              ? fmt::format("The next one: {}\n", options.key.empty() ? command : options.key)
              : last);
}

}  // namespace onepass::driver

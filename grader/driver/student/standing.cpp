#include "driver/student/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "driver/bad_input.h"
#include "driver/cache.h"
#include "driver/files.h"
#include "driver/grader.h"
#include "driver/printable.h"
#include "driver/skeleton.h"
#include "driver/submission.h"
#include "driver/text.h"
#include "driver/todo/places.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

State state_of(const Standing& standing, const std::optional<Skeleton>& skeleton) {
  const Note& note = standing.note;
  const std::string text = fingerprint(standing.text);
  if (skeleton && standing.text == skeleton->text) {
    return State::not_started;
  }
  if (!note.status.empty() && note.checks != fingerprint_of_checks(standing.info.checks)) {
    return State::changed;
  }
  if (text == note.graded_text) {
    return note.status == "passed"                                 ? State::passed
           : !note.passed_text.empty() && note.passed_text != text ? State::broken
                                                                   : State::failed;
  }
  if (text == note.passed_text) {
    return State::passed;
  }
  return note.status.empty() ? State::not_graded : State::changed;
}

// The first TODO without code, as far as the text shows.
int first_to_begin(const Skeleton& skeleton, const std::string& text) {
  if (const std::optional<Places> places = find_places(skeleton, text)) {
    for (const int todo : places->todos()) {
      if (!places->is_begun(todo)) {
        return todo;
      }
    }
  }
  return 0;
}

Standing standing(const Config& config, const Task& task, const wire::ExerciseInfo& info,
                  const Note& note) {
  const Named named = {task.chapter, task.exercise};
  Standing result = {named, number_of(named), info, task.shown, task.source, note, {}, 0};
  if (!task.missing.empty()) {
    result.state = State::missing;
    return result;
  }
  const fs::path solution = config.solution_of(*task.chapter, *task.exercise);
  std::optional<Skeleton> skeleton;
  if (fs::exists(solution)) {
    skeleton = take_apart(read_file(solution), solution.string());
  }
  result.state = state_of(result, skeleton);
  const bool is_known = result.state == State::broken || result.state == State::failed;
  if (is_known && note.todo != 0) {
    result.todo = note.todo;
  } else if (skeleton && result.state != State::passed) {
    result.todo = first_to_begin(*skeleton, task.source);
  }
  return result;
}

// The comment that begins a TODO, and its line, counted from 1.
struct TodoComment {
  std::size_t line = 1;
  std::vector<std::string> lines;
};

TodoComment comment_of(int todo, const std::string& text) {
  static const std::regex comment(R"(\s*// ?(.*))");
  const std::regex begin(fmt::format(R"(\s*// (TODO {}\b.*))", todo));
  static const std::regex other(R"(\s*// (TODO \d+\b|\[solution).*)");
  TodoComment result;
  for (const std::string& line : lines_of(cut_lines(text))) {
    std::smatch match;
    if (result.lines.empty()
            ? std::regex_match(line, match, begin)
            : !std::regex_match(line, other) && std::regex_match(line, match, comment)) {
      result.lines.push_back(match[1]);
    } else if (!result.lines.empty()) {
      break;
    } else {
      ++result.line;
    }
  }
  return result;
}

// Number, file and line, and the comment.
std::string what_to_do(const Standing& standing) {
  const TodoComment comment = comment_of(standing.todo, standing.text);
  const std::string where =
      comment.lines.empty() ? standing.file : fmt::format("{}:{}", standing.file, comment.line);
  std::string text = fmt::format("{} {}, {} ({})\n  {}\n", standing.number, standing.info.id,
                                 standing.info.title, standing.state_name(), where);
  for (const std::string& line : comment.lines) {
    text += fmt::format("  {}\n", printable_line(line));
  }
  return text;
}

bool is_built(const Chapter& chapter) {
  std::error_code error;
  return fs::exists(chapter.grader, error);
}

std::string how_to_build(const Config& config, const Chapter& chapter) {
  return fmt::format("Its grader is not built yet: make -C {} grade-{}",
                     shell_word(shown_path(config.build, config.source)), chapter.name);
}

}  // namespace

int Standing::max_score() const {
  int points = 0;
  for (const wire::CheckInfo& check : info.checks) {
    points += check.points;
  }
  return points;
}

int Standing::score() const {
  return state == State::not_started || state == State::missing ? 0
         : state == State::passed                               ? max_score()
                                                                : note.score;
}

bool Standing::is_counted() const {
  return !info.optional || (state != State::not_started && state != State::missing);
}

std::string Standing::state_name() const {
  switch (state) {
    case State::passed:
      return "passed";
    case State::broken:
      return note.status + "; passed before";
    case State::changed:
      if (note.checks != fingerprint_of_checks(info.checks)) {
        return "was graded by other checks";
      }
      return note.passed_text.empty() ? "changed since graded" : "changed since it passed";
    case State::failed:
      return note.status;
    case State::not_started:
      return "not started";
    case State::missing:
      return "missing";
    case State::not_graded:
      break;
  }
  return "not graded yet";
}

std::vector<Standing> standings(const Config& config) {
  const Notebook notebook = read_notebook(config);
  std::map<std::string, wire::ExerciseInfo> infos;
  for (const Chapter& chapter : config.chapters) {
    if (is_built(chapter)) {
      for (const wire::ExerciseInfo& info : list_exercises(chapter)) {
        infos[info.id] = info;
      }
    }
  }
  std::vector<Standing> all;
  for (const Task& task : own_tasks(config)) {
    const std::string& id = task.exercise->id;
    if (!is_built(*task.chapter)) {
      continue;
    }
    if (infos.count(id) == 0) {
      throw GraderFault(fmt::format("{} has no checks for {}.", task.chapter->grader.string(), id));
    }
    const auto note = notebook.find(id);
    all.push_back(
        standing(config, task, infos[id], note == notebook.end() ? Note() : note->second));
  }
  return all;
}

const Standing* next_after(const std::vector<Standing>& all, const std::string& exercise) {
  const auto is_open = [](const Standing& one) {
    return one.state != State::passed && one.is_counted();
  };
  const auto here = std::find_if(all.begin(), all.end(),
                                 [&](const Standing& one) { return one.info.id == exercise; });
  auto found = here == all.end() ? here : std::find_if(here + 1, all.end(), is_open);
  found = found == all.end() ? std::find_if(all.begin(), all.end(), is_open) : found;
  return found == all.end() ? nullptr : &*found;
}

const Standing& standing_of(const Config& config, const std::vector<Standing>& all,
                            const Named& named) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Standing& one) {
    return one.named.exercise == named.exercise;
  });
  if (found == all.end()) {
    throw BadInput(fmt::format("{} cannot be graded. {}", named.exercise->id,
                               how_to_build(config, *named.chapter)));
  }
  return *found;
}

Named one_named(const Config& config, const std::string& name, const char* command) {
  if (name.empty()) {
    throw BadInput(fmt::format("Name the exercise, such as {} {} {}.", program_of(config), command,
                               number_of(exercises_named(config, {}).front())));
  }
  return exercise_named(config, {{name}, "", ""});
}

const Standing& standing_named(const Config& config, const std::vector<Standing>& all,
                               const std::string& name) {
  if (!name.empty()) {
    return standing_of(config, all, exercise_named(config, {{name}, "", ""}));
  }
  const Standing* next = next_after(all);
  if (next == nullptr) {
    throw BadInput("All is passed, so there is no next exercise: name one, such as 1.2.");
  }
  return *next;
}

std::string told_next(const Config& config, const std::vector<Standing>& all,
                      const std::string& exercise) {
  if (const Standing* next = next_after(all, exercise)) {
    return "Next: " + what_to_do(*next);
  }
  for (const Chapter& chapter : config.chapters) {
    if (!is_built(chapter)) {
      return fmt::format("Next: {}. {}\n", chapter.name, how_to_build(config, chapter));
    }
  }
  return "That is the whole workbook. Each chapter ends with what to try next.\n";
}

}  // namespace onepass::driver

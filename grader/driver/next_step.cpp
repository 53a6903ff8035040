#include "driver/next_step.h"

#include <algorithm>
#include <set>
#include <string>

#include "driver/show_failures.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// Those of which experiments say this.
std::set<int> in_state(const Json& exercise, TodoState state) {
  std::set<int> todos;
  for (const Json& known : exercise.value("todos", Json::array())) {
    if (text(known, "state") == name(state)) {
      todos.insert(known["todo"].get<int>());
    }
  }
  return todos;
}

// The TODO of a failed check, or whose line it names. Where experiments know better, the first one
// that is wrong for sure; and where they know of none, but that this one is right, the first of the
// others.
int todo_at_fault(const Json& exercise, const Json& check) {
  const int own = check["todo"].get<int>();
  std::set<int> faulty = in_state(exercise, TodoState::wrong);
  if (faulty.empty()) {
    faulty = in_state(exercise, TodoState::unknown);
    faulty.merge(in_state(exercise, TodoState::not_started));
  }
  for (const int todo : {check.value("todo_at_location", own), own}) {
    if (faulty.count(todo) != 0) {
      return todo;
    }
  }
  return faulty.empty() ? own : *faulty.begin();
}

// A check of one TODO fails by code of another, or of none, as well.
bool is_known(const Json& exercise, int todo) {
  const Json& checks = exercise["checks"];
  const Json not_started = exercise.value("not_started", Json::array());
  return text(exercise, "status") == "not started" ||
         std::find(not_started.begin(), not_started.end(), todo) != not_started.end() ||
         in_state(exercise, TodoState::wrong).count(todo) != 0 ||
         std::all_of(checks.begin(), checks.end(),
                     [&](const Json& check) { return check["todo"] == todo; });
}

}  // namespace

std::optional<NextStep> next_step(const Json& exercise) {
  for (const Json* check : failures(exercise)) {
    if (!check->value("granted", false)) {
      const int todo = todo_at_fault(exercise, *check);
      return NextStep{check, todo, is_known(exercise, todo)};
    }
  }
  return std::nullopt;
}

}  // namespace onepass::driver

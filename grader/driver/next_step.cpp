#include "driver/next_step.h"

#include <set>
#include <string>

#include "driver/show_failures.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// The TODO of a failed check, or whose line it names. Where experiments know better, the first one
// that is wrong for sure; and where they know of none, but that this one is right, the first of the
// others.
int todo_at_fault(const Json& exercise, const Json& check) {
  const int own = check["todo"].get<int>();
  std::set<int> wrong, open;
  for (const Json& known : exercise.value("todos", Json::array())) {
    const std::string state = text(known, "state");
    if (state == name(TodoState::wrong)) {
      wrong.insert(known["todo"].get<int>());
    }
    if (state != name(TodoState::right)) {
      open.insert(known["todo"].get<int>());
    }
  }
  const std::set<int>& faulty = wrong.empty() ? open : wrong;
  for (const int todo : {check.value("todo_at_location", own), own}) {
    if (faulty.count(todo) != 0) {
      return todo;
    }
  }
  return faulty.empty() ? own : *faulty.begin();
}

}  // namespace

std::optional<NextStep> next_step(const Json& exercise) {
  for (const Json* check : failures(exercise)) {
    if (!check->value("granted", false)) {
      return NextStep{check, todo_at_fault(exercise, *check)};
    }
  }
  return std::nullopt;
}

}  // namespace onepass::driver

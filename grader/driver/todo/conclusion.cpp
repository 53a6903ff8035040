#include "driver/todo/conclusion.h"

#include <fmt/format.h>

namespace onepass::driver {
namespace {

// "4", "4 and 9", "4, 9 and 12", with this in front of each.
std::string enumerated(const std::string& prefix, const std::set<int>& numbers) {
  std::string text;
  std::size_t left = numbers.size();
  for (const int number : numbers) {
    text += fmt::format("{}{}{}", prefix, number, left > 2 ? ", " : left == 2 ? " and " : "");
    --left;
  }
  return text;
}

std::string names(const std::set<int>& todos) {
  return enumerated("TODO ", todos);
}

std::string be(const std::set<int>& todos) {
  return todos.size() == 1 ? " is" : " are";
}

}  // namespace

const char* name(TodoState state) {
  switch (state) {
    case TodoState::right:
      return "right";
    case TodoState::wrong:
      return "wrong";
    case TodoState::unknown:
      return "unknown";
    case TodoState::not_started:
      return "not started";
  }
  return "unknown";
}

std::set<int> in_states(const TodoStates& todos, const std::set<TodoState>& states) {
  std::set<int> numbers;
  for (const auto& [number, state] : todos) {
    if (states.count(state) != 0) {
      numbers.insert(number);
    }
  }
  return numbers;
}

Conclusion conclude(const TodoStates& todos, bool fit) {
  const std::set<int> right = in_states(todos, {TodoState::right});
  const std::set<int> wrong = in_states(todos, {TodoState::wrong});
  const std::set<int> doubtful = in_states(todos, {TodoState::wrong, TodoState::unknown});
  const std::set<int> not_started = in_states(todos, {TodoState::not_started});
  const char* others = todos.size() == 2 ? "the other" : "the others";
  const std::string missing =
      not_started.empty() ? ""
                          : fmt::format(" {}{} not started.", names(not_started), be(not_started));
  if (right.empty()) {
    // What a single TODO does wrong, the checks have said.
    return wrong.size() < 2
               ? Conclusion{}
               : Conclusion{fmt::format("{} each fail, with the solution's code for {}.{}",
                                        names(wrong), others, missing),
                            {}};
  }
  if (doubtful.empty() && not_started.empty()) {
    return {fmt::format("Each TODO passes with the solution's code for {}, but they do not fit "
                        "together: look at the names and values that they share.",
                        others),
            {}};
  }
  const std::string are_right = names(right) + be(right) + " right";
  if (doubtful.size() == 1 && fit) {
    const std::string as_well =
        not_started.empty() ? "" : fmt::format(" and for {}", names(not_started));
    return {fmt::format("The fault is in {0}: with the solution's code for {0}{1}, everything "
                        "passes. {2}.{3}",
                        names(doubtful), as_well, are_right, missing),
            right};
  }
  if (wrong.empty()) {
    return {fmt::format("{}: with the solution's code for {}, everything passes.{}", are_right,
                        others, missing),
            right};
  }
  return {fmt::format("{}, {}{} not: each was graded with the solution's code for {}.{}", are_right,
                      names(wrong), be(wrong), others, missing),
          right};
}

std::string fault_elsewhere(std::size_t todos, const std::set<int>& lines) {
  return fmt::format(
      "A fault is outside the TODO{}: with the solution's code for {}, not everything passes "
      "either. Look at your code that is in no TODO, at line{} {}.",
      todos == 1 ? "" : "s", todos == 1 ? "it" : "all of them", lines.size() == 1 ? "" : "s",
      enumerated("", lines));
}

}  // namespace onepass::driver

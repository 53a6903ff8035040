// What experiments say about the TODOs of one exercise, in words.
//
// Each TODO that has code was graded with the solution's code in place of all others. Passes
// everything then, the TODO is right, whatever the whole file's checks have said.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace onepass::driver {

/// `unknown`: the student's code and the solution's do not compile together, or the machine failed.
enum class TodoState { right, wrong, unknown, not_started };

/// "right", "wrong", "unknown", "not started".
const char* name(TodoState state);

using TodoStates = std::map<int, TodoState>;

/// Those in one of these states.
std::set<int> in_states(const TodoStates& todos, const std::set<TodoState>& states);

struct Conclusion {
  std::string sentence;  // empty: nothing is to be said
  std::set<int> right;   // TODOs whose checks count as passed
};

/// `fit`: does everything pass with the solution's code for all but those that are right?
Conclusion conclude(const TodoStates& todos, bool fit);

/// What is said of a file that fails with the solution's code for all its TODOs as well. `lines`:
/// where code begins that is no TODO's.
std::string fault_elsewhere(std::size_t todos, const std::set<int>& lines);

}  // namespace onepass::driver

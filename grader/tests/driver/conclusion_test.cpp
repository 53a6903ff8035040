// What is said of the TODOs after experiments.
#include "driver/todo/conclusion.h"

#include <doctest/doctest.h>

using namespace onepass::driver;

namespace {

constexpr TodoState kRight = TodoState::right;
constexpr TodoState kWrong = TodoState::wrong;
constexpr TodoState kUnknown = TodoState::unknown;
constexpr TodoState kNotStarted = TodoState::not_started;

}  // namespace

TEST_CASE("one TODO is at fault if everything passes without it") {
  const Conclusion one = conclude({{1, kRight}, {2, kWrong}, {3, kRight}}, true);
  CHECK(one.sentence ==
        "The fault is in TODO 2: with the solution's code for TODO 2, everything passes. TODO 1 "
        "and TODO 3 are right.");
  CHECK(one.right == std::set<int>{1, 3});
  CHECK(conclude({{1, kRight}, {2, kUnknown}}, true).sentence.find("The fault is in TODO 2") == 0);
  CHECK(conclude({{1, kRight}, {2, kWrong}, {3, kNotStarted}}, true).sentence ==
        "The fault is in TODO 2: with the solution's code for TODO 2 and for TODO 3, everything "
        "passes. TODO 1 is right. TODO 3 is not started.");
}

TEST_CASE("several are at fault, or that is not known") {
  const Conclusion two = conclude({{1, kWrong}, {2, kRight}, {3, kWrong}}, true);
  CHECK(two.sentence ==
        "TODO 2 is right, TODO 1 and TODO 3 are not: each was graded with the solution's code for "
        "the others.");
  CHECK(two.right == std::set<int>{2});
  CHECK(conclude({{1, kRight}, {2, kUnknown}, {3, kUnknown}}, true).sentence ==
        "TODO 1 is right: with the solution's code for the others, everything passes.");
  CHECK(conclude({{1, kWrong}, {2, kWrong}, {3, kWrong}}, false).sentence ==
        "TODO 1, TODO 2 and TODO 3 each fail, with the solution's code for the others.");
}

TEST_CASE("what fails without any code of the student's TODOs is outside them") {
  CHECK(fault_elsewhere(3, {7, 12}) ==
        "A fault is outside the TODOs: with the solution's code for all of them, not everything "
        "passes either. Look at your code that is in no TODO, at lines 7 and 12.");
  CHECK(fault_elsewhere(1, {7}) ==
        "A fault is outside the TODO: with the solution's code for it, not everything passes "
        "either. Look at your code that is in no TODO, at line 7.");
}

TEST_CASE("what was not found out is not said") {
  for (const TodoStates& todos :
       {TodoStates{{1, kWrong}, {2, kNotStarted}}, TodoStates{{1, kWrong}, {2, kUnknown}},
        TodoStates{{1, kUnknown}, {2, kUnknown}}}) {
    const Conclusion nothing = conclude(todos, false);
    CHECK(nothing.sentence == "");
    CHECK(nothing.right.empty());
  }
}

TEST_CASE("TODOs that are right one by one and wrong together get no points for that") {
  const Conclusion all = conclude({{1, kRight}, {2, kRight}}, false);
  CHECK(all.sentence.find("they do not fit together") != std::string::npos);
  CHECK(all.right.empty());
}

TEST_CASE("a TODO that is right beside one without code") {
  const Conclusion one = conclude({{1, kRight}, {2, kNotStarted}}, true);
  CHECK(one.sentence ==
        "TODO 1 is right: with the solution's code for the other, everything passes. TODO 2 is not "
        "started.");
  CHECK(one.right == std::set<int>{1});
}

// Points for speed, of the exercises "at the speed of memory". What is slow and right keeps all
// others.
#pragma once

#include "verdict/session/session.h"

namespace onepass::common {

/// How fast is fast enough for a point.
struct SpeedStep {
  double percent_of_copy;  // at least, on a GPU
  double over_least;       // at most, on the simulator: see verdict::Speed
};

/// Ends the check unless the exercise's own call is that fast.
void require_speed(const SpeedStep& step);

}  // namespace onepass::common

/// In a checks_*.cpp: the steps, each a check of the exercise's last TODO. right: calls that have
/// to be right first.
#define SPEED_CHECKS(last_todo, right)                                                            \
  CHECK_CASE("speed: 40 % of a copy's; on the simulator 2 times the least traffic", points(1),    \
             todo(last_todo)) {                                                                   \
    right;                                                                                        \
    require_speed({40.0, 2.0});                                                                   \
  }                                                                                               \
  CHECK_CASE("speed: 60 % of a copy's; on the simulator 1.5 times the least traffic", points(1),  \
             todo(last_todo)) {                                                                   \
    right;                                                                                        \
    require_speed({60.0, 1.5});                                                                   \
  }                                                                                               \
  CHECK_CASE("speed: 75 % of a copy's; on the simulator 1.25 times the least traffic", points(1), \
             todo(last_todo)) {                                                                   \
    right;                                                                                        \
    require_speed({75.0, 1.25});                                                                  \
  }                                                                                               \
  CHECK_CASE("speed: 85 % of a copy's; on the simulator 1.1 times the least, and no spills",      \
             points(1), todo(last_todo)) {                                                        \
    right;                                                                                        \
    require_speed({85.0, 1.1});                                                                   \
    session().forbid_spills();                                                                    \
  }

// What a chapter's checks_*.cpp begins with.
#pragma once

#include <optional>
#include <vector>

#include "chapters/common/sweeps.h"
#include "verdict/contract/measured.h"
#include "verdict/session/check.h"
#include "verdict/traffic.h"

namespace onepass::common {

using verdict::Outputs;
using verdict::outputs_of;
using verdict::session;

/// The mistakes of an exercise, made once.
using Mistakes = std::vector<verdict::Oracle> (*)();
template <Mistakes mistakes>
const std::vector<verdict::Oracle>& oracles_of() {
  static const std::vector<verdict::Oracle> all = mistakes();
  return all;
}

/// Runs the call, and compares what is expected of it.
template <Mistakes mistakes>
verdict::Answer expect(const Case& call, const Outputs& outputs) {
  return session().expect(call, outputs, oracles_of<mistakes>());
}

/// The same, and what the call asked of memory, where the simulator counts that.
using Require = void (*)(const Case& call, const verdict::Traffic& traffic);
template <Mistakes mistakes>
void count(const Case& call, const Outputs& outputs, Require require) {
  if (const auto traffic = session().expect_and_count(call, outputs, oracles_of<mistakes>())) {
    require(call, *traffic);
  }
}

/// The same of the other_ways() of the call.
template <Mistakes mistakes>
void count_other_ways(const Case& call, bool off, const Outputs& outputs, Require require) {
  for (const Case& other : verdict::contract::other_ways(call, off)) {
    count<mistakes>(other, outputs, require);
  }
}

/// The same, where derivatives that know no formula must agree too.
template <Mistakes mistakes>
void expect_derivative(const Case& call, Expectation (*expected)(const Case&),
                       const Field& differences) {
  const verdict::Answer answer = expect<mistakes>(call, Outputs{expected});
  session().compare(call, answer, {[&](const Case&) {
                      constexpr double kRoom = 1e-6;  // for the differences, and what was rounded
                      Expectation expectation = expected(call);
                      expectation.value = differences;
                      expectation.bound =
                          map(expectation.bound, [](double bound) { return bound + kRoom; });
                      return expectation;
                    }});
}

}  // namespace onepass::common

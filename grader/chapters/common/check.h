// What a chapter's checks_*.cpp begins with.
#pragma once

#include <optional>
#include <vector>

#include "chapters/common/sweeps.h"
#include "verdict/contract/measured.h"
#include "verdict/session/check.h"
#include "verdict/traffic.h"

namespace onepass::common {

using verdict::session;
using verdict::contract::expectations;
using verdict::contract::Outputs;

/// The mistakes of an exercise, made once.
using Mistakes = std::vector<verdict::Oracle> (*)();
template <Mistakes mistakes>
const std::vector<verdict::Oracle>& oracles_of() {
  static const std::vector<verdict::Oracle> all = mistakes();
  return all;
}

/// Runs the call, and compares what is expected of it.
template <Mistakes mistakes>
verdict::Answer expect(const Case& call, const std::vector<Expectation>& expected) {
  return session().expect(call, expected, oracles_of<mistakes>());
}
template <Mistakes mistakes>
verdict::Answer expect(const Case& call, const Outputs& outputs) {
  return expect<mistakes>(call, expectations(outputs, call));
}

/// The same, and what the call asked of memory, on the simulator.
template <Mistakes mistakes>
std::optional<verdict::Traffic> expect_and_count(const Case& call, const Outputs& outputs) {
  return session().expect_and_count(call, expectations(outputs, call), oracles_of<mistakes>());
}

/// The same, where derivatives that know no formula must agree too.
template <Mistakes mistakes>
void expect_derivative(const Case& call, Expectation expected, const Field& differences) {
  constexpr double kRoom = 1e-6;  // for the differences, and for what was rounded before the call
  const verdict::Answer answer = expect<mistakes>(call, std::vector{expected});
  expected.value = differences;
  expected.bound = map(expected.bound, [](double bound) { return bound + kRoom; });
  session().compare(call, answer, {expected});
}

}  // namespace onepass::common

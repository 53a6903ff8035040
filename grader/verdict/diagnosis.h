// Diagnosis: from numbers that are wrong to the mistake that made them.
//
// An oracle is the reference with one mistake in it. When an output is wrong, the oracles of the
// exercise are tried on the same case; the nearest one that gives the same wrong numbers names the
// mistake. Where none does, the pattern of the wrong elements may.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/compare.h"
#include "verdict/values/field.h"

namespace onepass::verdict {

constexpr std::int64_t kMostThreads = 1024;  // of a block

/// What a student is told.
struct Diagnosis {
  std::optional<std::string> mistake;  // "eps-ignored": its id, stable, used in reports
  std::string sentence;                // one or more
};

/// How many bounds an output may be away from an oracle's result; and where sums in 16 bits depend
/// on the order of additions.
constexpr double kSlack = 4.0;
constexpr double kSixteenBitSlack = 16.0;

struct Oracle {
  std::string mistake;   // id
  std::string sentence;  // "The result is what comes out without eps: add it to the mean."
  /// What `output` would be in fp64 with this mistake, rounded where the mistake says so; nothing
  /// where the mistake does not affect that output or the case.
  std::function<std::optional<Field>(const Case& call, const std::string& output)> result;
  /// How many bounds the output may be away from this result. Raise it for mistakes whose result
  /// depends on the order of operations, such as sums in 16 bits.
  double slack = kSlack;
};

/// The nearest oracle whose result is `got`, or nothing; of those that are equally near the first.
/// An oracle explains an output if every element is within
/// slack bounds of it (the bound grows with the oracle's value where that is larger), and if most
/// elements that are wrong are wrong in it too.
std::optional<Diagnosis> explain(const Case& call, const Expectation& right, const Matrix& got,
                                 const std::vector<Oracle>& oracles);

/// What the pattern of wrong and unwritten elements tells, or nothing.
std::optional<Diagnosis> explain_pattern(const std::string& output, const Comparison& comparison);

/// A launch that failed: "grid-limit", "shared-row-too-big" or "launch-failed".
Diagnosis explain_launch_error(const Case& call, const std::string& error);

}  // namespace onepass::verdict

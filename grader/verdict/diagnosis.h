// Diagnosis: from numbers that are wrong to the mistake that made them.
//
// An oracle is the reference with one mistake in it. When an output is wrong, the oracles of the
// exercise are tried on the same case; those that give the same wrong numbers are suspects, which
// session/experiments.h tells apart. Where there is none, the pattern of the wrong elements may
// tell.
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

/// Bounds: a result that is off by less comes near to what many a formula gives, and is right again
/// where it comes out a little nearer.
constexpr double kTelling = 8.0;
/// How many bounds an output may be away from an oracle's result.
constexpr double kSlack = 4.0;
/// More where a mistake's result depends on the order of operations. As others come near it then, a
/// call like that one in which it leaves no trace has to be right: else there is another reason.
struct Noise {
  double slack = kSlack;
  std::optional<Case> (*harmless)(const Case& call) = nullptr;
  /// A call that is as much unlike it, and in which it leaves one: it must be wrong, or what is
  /// wrong is so by chance.
  std::optional<Case> (*control)(const Case& call) = nullptr;
  bool erratic = false;  // does it come out otherwise where x is changed slightly?
};
/// That of sums in 16 bits. The same call in fp32 shows nothing of those. Where the result does not
/// depend on a cast order, they show in the other one too.
std::optional<Case> in_fp32(const Case& call);
std::optional<Case> in_other_order(const Case& call);
inline constexpr Noise kSixteenBitNoise = {16.0, in_fp32};
inline constexpr Noise kSixteenBitNoiseInAnyOrder = {16.0, in_fp32, in_other_order};
/// That of a mistake with vectors, which leaves no trace where none is aligned.
std::optional<Case> unaligned(const Case& call);

/// Which rows of an output are wrong. Where a block has several rows, they tell which.
struct WrongRows {
  std::int64_t rows = 0;                  // of the output
  std::int64_t first = -1, last = -1;     // that is wrong; -1: none is
  std::int64_t right_again = -1;          // the first that is right after one that is not
  std::vector<LaunchSize> launches = {};  // Answer::launches
};

struct Oracle {
  std::string mistake;   // id
  std::string sentence;  // "The result is what comes out without eps: add it to the mean."
  /// What `output` would be in fp64 with this mistake, rounded where the mistake says so; nothing
  /// where the mistake does not affect that output or the case. wrong: what may be learned from
  /// the output that is to be explained.
  std::function<std::optional<Field>(const Case& call, const std::string& output,
                                     const WrongRows& wrong)>
      result;
  Noise noise = {};
  /// Does it show wherever tensors begin, and in any type? Where a call differs in these only, it
  /// has to explain what comes out, or another oracle of the same mistake has. Else its numbers are
  /// by chance those of another one, in what moves vectors of columns.
  bool everywhere = false;
  /// Does it show in rows of any length, as what a block's threads make of their sums? Else it may
  /// be that of a kernel for some lengths.
  bool at_any_length = false;
};

/// An oracle that explains every output it was asked about. away: how far those were from its
/// results, in bounds, each on average over its elements.
struct Suspect {
  const Oracle* oracle;
  double away = 0.0;

  Suspect(const Oracle& one) : oracle(&one) {}
};

/// Does it give numbers, and not what noise makes of them?
bool is_exact(const Suspect& suspect);

/// Those that explain this output too. An oracle explains one if every element is within its slack
/// of its result (the bound grows with that where it is larger than the value), if most
/// elements that are wrong are wrong in it too, and if all together are much nearer to it than to
/// what is right. Where every element is NaN, none does.
std::vector<Suspect> that_explain(const Case& call, const Expectation& right, const Matrix& got,
                                  std::vector<Suspect> suspects,
                                  const std::vector<LaunchSize>& launches = {});

/// Those that say nothing of this output.
std::vector<Suspect> that_are_silent(const Case& call, const Expectation& right, const Matrix& got,
                                     std::vector<Suspect> suspects,
                                     const std::vector<LaunchSize>& launches = {});

/// Bounds: closer together than that, two distances differ by noise. More where a wrong choice says
/// something else of the same mistake, such as another eps.
constexpr double kTie = 0.02;
constexpr double kTieOfWays = 0.25;

/// The mistakes of those that are nearest, each once, with the sentence that stands first, and all
/// numbers of those that differ in these only; or each once for every sentence. What noise makes of
/// numbers has to be nearer than exact ones by more than a tie of ways, or both are among them.
std::vector<Diagnosis> nearest(const std::vector<Suspect>& suspects, bool sentences = false,
                               double tie = kTie);

/// What the pattern of wrong and unwritten elements tells, or nothing. is_left_over: does the call
/// go well with whole blocks and vectors? It is asked where the last few of them are missing.
std::optional<Diagnosis> explain_pattern(const Case& call, const std::string& output,
                                         const Comparison& comparison,
                                         const std::function<bool()>& is_left_over);

/// A launch that failed: "grid-limit", "shared-row-too-big" or "launch-failed".
Diagnosis explain_launch_error(const Case& call, const std::string& error);

}  // namespace onepass::verdict

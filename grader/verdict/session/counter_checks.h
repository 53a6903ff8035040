// Counter-checks: further calls in which a mistake that explains the wrong numbers would have to
// show as well, or would not. Those that do not stand them fit by chance.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "verdict/session/experiments.h"

namespace onepass::verdict {

/// Elements of all inputs. Some hundred oracles go through so many in no time.
constexpr std::int64_t kFew = std::int64_t{1} << 12;

std::int64_t elements_of(const Case& call);

Comparison comparison_of(const Answer& answer, const Expectation& expectation);

/// Those that explain this output too.
std::vector<Suspect> question(std::vector<Suspect> suspects, const WrongOutput& wrong);

/// Is it off by something else where x is changed slightly, as what cancels is? What a formula
/// gives stays. error_of: in bounds; nothing if the call did not come to a good end.
bool is_erratic(const Case& call,
                const std::function<std::optional<double>(const Case&)>& error_of);

struct CounterChecks {
  const std::function<Expectation(const Case&)>& expected;  // as in find_causes()
  const Attempt& attempt;

  /// Drops noise that leaves no trace in another call, unless that is right, and its control wrong.
  void drop_harmless(std::vector<Suspect>& suspects, const Case& call) const;

  /// Drops noise that would have to come out otherwise where x is changed slightly, and does not.
  void drop_steady(std::vector<Suspect>& suspects, const Case& call) const;

  /// Drops those that would have to show in calls that differ in alignment and type only, and do
  /// not.
  void drop_confined(std::vector<Suspect>& suspects, const Case& call,
                     const std::vector<Oracle>& oracles) const;

  /// Drops those that fit by chance: of many columns the half of them comes to as much as another
  /// half, as near as a bound for so many additions tells. Not so where a few are much larger, nor
  /// of rows that are turned round.
  void drop_accidental(std::vector<Suspect>& suspects, const Case& call) const;

  /// Where a single number is wrong: drops those that show in rows of any length, if a call of half
  /// the columns is right. One number some of many mistakes give by chance.
  void drop_of_one(std::vector<Suspect>& suspects, const WrongOutput& wrong) const;

  /// Drops those that would have to show without a large mean too, where the call is right then.
  void drop_without_mean(std::vector<Suspect>& suspects, const Case& call) const;

  /// Drops those that would have to show in rows of different numbers too, where the call is right
  /// then: of rows that are alike all along, 0 is the variance and much else.
  void drop_of_flat_rows(std::vector<Suspect>& suspects, const Case& call) const;

 private:
  void drop_if_right(std::vector<Suspect>& suspects, const std::optional<Case>& other) const;
};

}  // namespace onepass::verdict

#include "verdict/session/counter_checks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "verdict/contract/call.h"

namespace onepass::verdict {
namespace {

constexpr double kFarBetter = 1.0 / 3.0;  // of an error

/// The same call with numbers of another size. bfloat16 has as many exponents as fp32.
std::optional<Case> in_other_type(const Case& call) {
  return contract::in_dtype(call, call.dtype() == Dtype::fp32 ? Dtype::bf16 : Dtype::fp32);
}

}  // namespace

std::int64_t elements_of(const Case& call) {
  std::int64_t elements = 0;
  for (const Buffer& buffer : call.buffers()) {
    elements += buffer.null || buffer.role == Role::output ? 0 : buffer.rows * buffer.cols;
  }
  return elements;
}

std::vector<Suspect> question(std::vector<Suspect> suspects, const WrongOutput& wrong) {
  return that_explain(wrong.call, wrong.expectation, wrong.answer[wrong.expectation.output],
                      std::move(suspects), wrong.answer.launches);
}

Comparison comparison_of(const Answer& answer, const Expectation& expectation) {
  return compare(answer[expectation.output], expectation.value, expectation.bound, std::nullopt);
}

bool is_erratic(const Case& call,
                const std::function<std::optional<double>(const Case&)>& error_of) {
  constexpr std::uint64_t kTries = 4;
  constexpr double kOfError = 1.0 / 8.0, kOfBound = 0.25;  // by which an honest sum may change
  std::optional<double> first;
  for (std::uint64_t number = 0; number < kTries; ++number) {
    const std::optional<Case> other = contract::changed_slightly(call, number);
    const std::optional<double> error = other ? error_of(*other) : std::nullopt;
    if (error && first && !(std::abs(*error - *first) <= kOfError * *first + kOfBound)) {
      return true;
    }
    first = first ? first : error;
  }
  return false;
}

void CounterChecks::drop_harmless(std::vector<Suspect>& suspects, const Case& call) const {
  const auto error_of = [&](const Case& other) {
    const std::optional<Answer> answer = attempt(other);
    return answer ? comparison_of(*answer, expected(other)).error_over_bound
                  : std::numeric_limits<double>::infinity();
  };
  // What is wrong by little is right by chance, too.
  const auto is_far_better = [&](const Case& other) {
    return error_of(other) <= std::min(1.0, kFarBetter * error_of(call));
  };
  using Calls = std::pair<decltype(Noise::harmless), decltype(Noise::control)>;
  std::map<Calls, bool> known = {{{nullptr, nullptr}, false}};
  std::erase_if(suspects, [&](const Suspect& suspect) {
    const auto& [slack, harmless, control, erratic] = suspect.oracle->noise;
    const auto [entry, is_new] = known.emplace(Calls(harmless, control), false);
    if (is_new) {
      const std::optional<Case> other = harmless(call), alike = control ? control(call) : other;
      entry->second =
          !other || !is_far_better(*other) || (control && alike && error_of(*alike) <= 1.0);
    }
    return entry->second;
  });
}

void CounterChecks::drop_confined(std::vector<Suspect>& suspects, const Case& call,
                                  const std::vector<Oracle>& oracles) const {
  for (const auto& change : {contract::one_element_off, in_other_type}) {
    const auto shows_everywhere = [](const Suspect& one) { return one.oracle->everywhere; };
    const bool any = std::any_of(suspects.begin(), suspects.end(), shows_everywhere);
    const std::optional<Case> other = any ? change(call) : std::nullopt;
    const std::optional<Answer> answer = other ? attempt(*other) : std::nullopt;
    if (!answer) {
      continue;
    }
    std::vector<Suspect> asked;
    std::copy_if(oracles.begin(), oracles.end(), std::back_inserter(asked), shows_everywhere);
    const Expectation expectation = expected(*other);
    const std::vector<Suspect> shown = question(
        std::move(asked), {*other, *answer, expectation, comparison_of(*answer, expectation)});
    std::erase_if(suspects, [&](const Suspect& suspect) {
      return suspect.oracle->everywhere &&
             std::none_of(shown.begin(), shown.end(), [&](const Suspect& one) {
               return one.oracle->mistake == suspect.oracle->mistake;
             });
    });
  }
}

void CounterChecks::drop_accidental(std::vector<Suspect>& suspects, const Case& call) const {
  for (const auto& change : {contract::with_outliers, contract::turned_round}) {
    const bool any =
        elements_of(call) >= kFew && std::any_of(suspects.begin(), suspects.end(), is_exact);
    const std::optional<Case> other = any ? change(call) : std::nullopt;
    const std::optional<Answer> answer = other ? attempt(*other) : std::nullopt;
    if (!answer) {
      continue;
    }
    const Expectation expectation = expected(*other);
    const Comparison comparison = comparison_of(*answer, expectation);
    if (comparison.right()) {
      continue;
    }
    const std::vector<Suspect> left =
        question(suspects, {*other, *answer, expectation, comparison});
    std::erase_if(suspects, [&](const Suspect& suspect) {
      return is_exact(suspect) && std::none_of(left.begin(), left.end(), [&](const Suspect& one) {
               return one.oracle == suspect.oracle;
             });
    });
  }
}

void CounterChecks::drop_of_one(std::vector<Suspect>& suspects, const WrongOutput& wrong) const {
  constexpr std::int64_t kLeastHalved = 64, kMost = std::int64_t{1} << 18;
  if (suspects.empty() || wrong.comparison.wrong > 1 || wrong.of_smaller_call ||
      wrong.call.contract() == nullptr) {
    return;
  }
  const std::vector<std::string> rows = wrong.call.contract()->row_sizes();
  contract::Sizes sizes = contract::sizes_of(wrong.call);
  for (auto& [name, size] : sizes) {
    const bool is_halved = size >= kLeastHalved && std::count(rows.begin(), rows.end(), name) == 0;
    size = is_halved ? size / 2 | size % 2 : size;  // odd ones stay odd
  }
  const auto at_any_length = [](const Suspect& one) { return one.oracle->at_any_length; };
  const auto first =
      std::stable_partition(suspects.begin(), suspects.end(), std::not_fn(at_any_length));
  std::vector<Suspect> asked(first, suspects.end());
  suspects.erase(first, suspects.end());
  drop_if_right(asked, asked.empty() ? std::nullopt : contract::resized(wrong.call, sizes, kMost));
  suspects.insert(suspects.end(), asked.begin(), asked.end());
}

void CounterChecks::drop_without_mean(std::vector<Suspect>& suspects, const Case& call) const {
  drop_if_right(suspects, suspects.empty() ? std::nullopt : contract::with_less_mean(call));
}

void CounterChecks::drop_of_flat_rows(std::vector<Suspect>& suspects, const Case& call) const {
  drop_if_right(suspects, suspects.empty() ? std::nullopt : contract::with_uneven_rows(call));
}

/// If that call is right, drops those whose result in it is not.
void CounterChecks::drop_if_right(std::vector<Suspect>& suspects,
                                  const std::optional<Case>& other) const {
  const std::optional<Answer> answer = other ? attempt(*other) : std::nullopt;
  if (!answer) {
    return;
  }
  const Expectation right = expected(*other);
  if (!comparison_of(*answer, right).right()) {
    return;
  }
  std::erase_if(suspects, [&](const Suspect& suspect) {
    const std::optional<Field> result =
        suspect.oracle->result(*other, right.output, WrongRows{.rows = right.value.rows});
    return result && !compare(Matrix::rounded((*answer)[right.output].dtype(), *result),
                              right.value, right.bound, std::nullopt)
                          .right();
  });
}

void CounterChecks::drop_steady(std::vector<Suspect>& suspects, const Case& call) const {
  const auto must_be_erratic = [](const Suspect& one) { return one.oracle->noise.erratic; };
  const auto error_of = [&](const Case& other) -> std::optional<double> {
    const std::optional<Answer> answer = attempt(other);
    return answer ? std::optional(comparison_of(*answer, expected(other)).error_over_bound)
                  : std::nullopt;
  };
  if (std::any_of(suspects.begin(), suspects.end(), must_be_erratic) &&
      !is_erratic(call, error_of)) {
    std::erase_if(suspects, must_be_erratic);
  }
}

}  // namespace onepass::verdict

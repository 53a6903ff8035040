// What may go wrong with the numbers of any output, whatever its formula.
#include <fmt/format.h>

#include <cmath>

#include "verdict/contract/call.h"
#include "verdict/session/counter_checks.h"

namespace onepass::verdict {
namespace {

const char* const kPassedOver =
    "Where one of two numbers is NaN, fmaxf() and fminf() give the other one, and no comparison "
    "holds.";
const char* const kRoundedByHand =
    "-0 is what comes out where a GPU's NaN, 0x7fffffff, is rounded to bf16 by adding to its bits: "
    "they carry over into the sign. Convert with __float2bfloat16() or static_cast, or leave out "
    "NaN.";

/// "x[2][45]", the first element of the call's inputs that is infinite or NaN.
std::optional<std::string> not_finite(const Case& call) {
  for (const Buffer& buffer : call.buffers()) {
    const Matrix& values = buffer.values;
    for (std::int64_t row = 0; row < values.rows(); ++row) {
      for (std::int64_t col = 0; col < values.cols(); ++col) {
        if (!std::isfinite(values.get(row, col))) {
          return fmt::format("{} is {}", element_name(buffer.name, values, Index{row, col}),
                             std::isnan(values.get(row, col)) ? "NaN" : "infinite");
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnosis> explain_hidden(const WrongOutput& wrong) {
  const Matrix& got = wrong.answer[wrong.expectation.output];
  bool all_minus_0 = got.dtype() == Dtype::bf16;
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      if (!wrong.comparison.wrong_mask(row, col)) {
        continue;
      }
      const double value = got.get(row, col);
      if (std::isfinite(wrong.expectation.value(row, col)) || !std::isfinite(value)) {
        return std::nullopt;
      }
      all_minus_0 = all_minus_0 && value == 0.0 && std::signbit(value);
    }
  }
  const std::optional<std::string> input = not_finite(wrong.call);
  if (!input) {
    return std::nullopt;
  }
  return Diagnosis{"nan-hidden", fmt::format("In this call {}, and that has to show. {}", *input,
                                             all_minus_0 ? kRoundedByHand : kPassedOver)};
}

std::optional<Diagnosis> explain_saturated(const WrongOutput& wrong) {
  constexpr double kLargestHalf = 65504.0;
  const Matrix& got = wrong.answer[wrong.expectation.output];
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      const double value = wrong.expectation.value(row, col);
      const bool is_beyond = std::isinf(round_to(got.dtype(), value));
      if (wrong.comparison.wrong_mask(row, col) &&
          (!is_beyond || std::abs(got.get(row, col)) != kLargestHalf)) {
        return std::nullopt;
      }
    }
  }
  return Diagnosis{"result-saturated",
                   "What is beyond fp16 comes out as its largest number, 65504. Rounded to fp16 it "
                   "is infinite: nothing cuts it off."};
}

std::optional<Diagnosis> explain_spread(const WrongOutput& wrong, const TryAgain& again) {
  const Matrix& got = wrong.answer[wrong.expectation.output];
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      if (wrong.comparison.wrong_mask(row, col) &&
          (!std::isfinite(wrong.expectation.value(row, col)) || !std::isnan(got.get(row, col)))) {
        return std::nullopt;
      }
    }
  }
  const std::optional<std::string> input = not_finite(wrong.call);
  const auto usual = input ? again(made_finite(wrong.call)) : std::nullopt;
  if (!usual || !usual->first.right()) {
    return std::nullopt;
  }
  return Diagnosis{
      "nan-spread",
      fmt::format("In this call {}, and what does not depend on it is NaN too; with an "
                  "ordinary number there the call is right. 0 * infinity and infinity "
                  "- infinity are NaN: leave out what is not to count, instead of "
                  "multiplying it by 0 or subtracting it again.",
                  *input)};
}

std::optional<Diagnosis> explain_lost_in_mean(
    const WrongOutput& wrong, const std::function<Expectation(const Case&)>& expected,
    const TryAgain& again) {
  constexpr double kAlike = 1e-3;  // of a statistic, which changes as x is rounded
  const Expectation& right = wrong.expectation;
  const std::optional<Case> other = contract::with_less_mean(wrong.call);
  if (!other || wrong.call.dtype() != Dtype::fp32 || right.value.cols != 1) {
    return std::nullopt;
  }
  const Field about_0 = expected(*other).value;
  for (std::size_t i = 0; i < about_0.values.size(); ++i) {
    const double value = right.value.values[i];
    if (!(std::abs(about_0.values[i] - value) <= kAlike * std::abs(value))) {
      return std::nullopt;
    }
  }
  const auto now = again(*other);
  if (!now || !now->first.right() ||
      !is_erratic(wrong.call, [&](const Case& call) -> std::optional<double> {
        const auto result = again(call);
        return result ? std::optional(result->first.error_over_bound) : std::nullopt;
      })) {
    return std::nullopt;
  }
  return Diagnosis{
      "one-pass-variance",
      fmt::format(
          "Digits get lost where the mean is large: once it is taken off x, which leaves {} "
          "what it is, the call is right. So it goes where a difference of two large "
          "numbers is taken, as in E[x^2] - E[x]^2, of a whole row or of the parts of one: "
          "add up squares of distances from a mean.",
          right.output)};
}

}  // namespace onepass::verdict

// check_not_finite(): infinite numbers and NaN in the inputs of a call, and in fp16 in its results.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::made_finite;

namespace {

bool holds_numbers(const verdict::Buffer& buffer) {
  return buffer.role != verdict::Role::output && !buffer.null && !verdict::is_integer(buffer.dtype);
}

Matrix all_of(double number, const Matrix& like) {
  return changed(like, [=](auto, auto, double) { return number; });
}

/// What a call with such a number in it must give; see check_not_finite(). whole: the call before
/// one of its inputs was made 0, which hides what depends on the number.
verdict::Outputs lenient(const verdict::Outputs& outputs, const Case& whole) {
  const bool has_statistics = outputs.size() > 1;
  verdict::Outputs all;
  for (const auto& expected : outputs) {
    all.push_back([=](const Case& other) {
      Expectation expectation = expected(other);
      const Field finite = expected(made_finite(other)).value;
      const Field with = expected(whole).value, without = expected(made_finite(whole)).value;
      const bool is_statistic = has_statistics && finite.cols == 1;
      const bool is_alike = with.values.size() == finite.values.size();
      for (std::size_t i = 0; i < finite.values.size(); ++i) {
        const double value = expectation.value.values[i];
        const bool depends =
            value != finite.values[i] || (is_alike && with.values[i] != without.values[i]);
        if (depends && (is_statistic || std::isfinite(value))) {
          expectation.bound.values[i] = std::numeric_limits<double>::infinity();
        } else if (!std::isfinite(value)) {
          expectation.bound.values[i] = 0.0;  // else an infinite one, of a pair, would let all by
        }
      }
      return expectation;
    });
  }
  return all;
}

/// Beside the rows before and behind.
void set_ends_of_row(verdict::Buffer& input, double number) {
  input.values.set(input.rows / 2, 0, number);
  input.values.set(input.rows / 2, input.cols - 1, number);
}

void check_each_not_finite(const Case& call, const verdict::Outputs& outputs,
                           const CheckOutputs& check) {
  for (std::size_t i = 0; i < call.buffers().size(); ++i) {
    std::vector<verdict::Buffer> buffers = call.buffers();
    verdict::Buffer& input = buffers[i];
    if (!holds_numbers(input)) {
      continue;
    }
    const Matrix numbers = input.values;
    const std::pair<std::int64_t, std::int64_t> places[] = {{input.rows - 1, input.cols - 1},
                                                            {input.rows / 2, input.cols / 2}};
    for (const auto& [row, col] : places) {
      input.values = numbers;
      for (double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        input.values.set(row, col, number);
        check(call.with(buffers), lenient(outputs, call.with(buffers)));
      }
    }
    if (input.cols > 1) {
      input.values = numbers;
      set_ends_of_row(input, std::nan(""));
      check(call.with(buffers), lenient(outputs, call.with(buffers)));
    }
    // Infinity times 0 is NaN, too: whoever leaves out what is multiplied by 0 loses it. So does
    // who leaves out what changes no other number: a sine of 0 beside a cosine of 1.
    for (std::size_t j = 0; j < buffers.size(); ++j) {
      if (j == i || !holds_numbers(buffers[j])) {
        continue;
      }
      std::vector<verdict::Buffer> rest_is_one = buffers;
      for (std::size_t k = 0; k < buffers.size(); ++k) {
        if (k != i && k != j && holds_numbers(buffers[k])) {
          rest_is_one[k].values = all_of(1.0, rest_is_one[k].values);
        }
      }
      for (std::vector<verdict::Buffer> others : {buffers, rest_is_one}) {
        const Case whole = call.with(others);
        others[j].values = all_of(0.0, others[j].values);
        check(call.with(others), lenient(outputs, whole));
      }
    }
  }
}

bool is_beyond_half(double value) {
  return std::isinf(verdict::round_to(Dtype::fp16, value));
}

/// With infinity for what fp16 has no room for, and nothing for what is near there.
Expectation rounded_to_half(Expectation expectation) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNear = 0.01;
  for (std::size_t i = 0; i < expectation.value.values.size(); ++i) {
    double& value = expectation.value.values[i];
    if (is_beyond_half((1.0 - kNear) * value)) {
      value = std::copysign(kInfinity, value);
      expectation.bound.values[i] = 0.0;
    } else if (is_beyond_half((1.0 + kNear) * value)) {
      expectation.bound.values[i] = kInfinity;
    }
  }
  return expectation;
}

/// Finite results that fp16 has no room for, of inputs as large as it has. Nothing that is computed
/// from one.
void check_beyond_half(const Case& call, const verdict::Outputs& outputs,
                       const CheckOutputs& check) {
  constexpr double kLarge = 65000.0;
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& input : buffers) {
    if (!holds_numbers(input) || input.dtype != Dtype::fp16) {
      continue;
    }
    const std::vector<double> values = input.values.field().values;
    double largest = 0.0;
    for (double value : values) {
      largest = std::max(largest, std::abs(value));
    }
    input.values = changed(input.values, [&](auto, auto, double value) {
      const double size = largest > 0.0 ? 0.75 + 0.25 * std::abs(value) / largest : 0.0;
      return std::copysign(size * kLarge, value);
    });
  }
  const Case large = call.with(buffers);
  verdict::Outputs beyond;
  for (const auto& expected : outputs) {
    const std::vector<double> values = expected(large).value.values;
    const bool is_half = large.buffer(expected(large).output).dtype == Dtype::fp16;
    if (is_half && std::any_of(values.begin(), values.end(), is_beyond_half) &&
        std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) {
      beyond.push_back([=](const Case& other) { return rounded_to_half(expected(other)); });
    }
  }
  if (!beyond.empty()) {
    check(large, beyond);
  }
}

}  // namespace

void check_one_not_finite(const Case& call, const verdict::Outputs& outputs,
                          const CheckOutputs& check) {
  for (std::size_t i = 0; i < call.buffers().size(); ++i) {
    std::vector<verdict::Buffer> buffers = call.buffers();
    verdict::Buffer& input = buffers[i];
    if (holds_numbers(input)) {
      const Matrix numbers = input.values;
      input.values.set(input.rows / 2, input.cols / 2, std::nan(""));
      set_ends_of_row(input, std::nan(""));
      check(call.with(buffers), lenient(outputs, call.with(buffers)));
      input.values = numbers;
      input.values.set(input.rows - 1, input.cols - 1, std::numeric_limits<double>::infinity());
      check(call.with(buffers), lenient(outputs, call.with(buffers)));
    }
  }
  if (call.dtype() == Dtype::fp16) {
    check_beyond_half(call, outputs, check);
  }
}

void check_not_finite(const Case& call, const verdict::Outputs& outputs,
                      const CheckOutputs& check) {
  check_each_not_finite(call, outputs, check);
  if (call.dtype() == Dtype::fp16) {
    check_beyond_half(call, outputs, check);
    // The upper half of a GPU's NaN in fp32, 0x7fffffff, rounded up by hand to bf16, is a number.
    check_each_not_finite(*contract::in_dtype(call, Dtype::bf16), outputs, check);
  }
}

}  // namespace onepass::common

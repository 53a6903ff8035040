#include "verdict/session/dependence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/pattern.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostCalls = 128;  // to find what is lost, over all inputs
constexpr double kFarOff = 4.0;           // bounds: by so much a result has to change
// What is put in the place of an element: so many times the largest of the input.
constexpr double kLarger = 16.0, kMostInFp16 = 30000.0;

/// The output of a call as it is, and as it must be.
struct Results {
  const Matrix& got;
  const Field& right;
  const Field& bound;
  Poison poison;
};
Results results_of(const Expectation& right, const Answer& answer) {
  return {answer[right.output], right.value, right.bound, answer.poison};
}

/// In each call of a plan some elements of an input are changed, no two of which enter one result.
class Plan {
 public:
  Plan(const Matrix& input, const Field& output)
      : rows_(input.rows()), cols_(input.cols()), has_elements_(output.cols == cols_) {
    if (output.rows == rows_ && (output.cols == 1 || has_elements_)) {
      way_ = Way::of_rows;
    } else if (output.rows == 1 && output.cols == cols_) {
      way_ = Way::of_columns;
    }
  }

  std::int64_t calls() const {
    return way_ == Way::of_rows ? cols_ : way_ == Way::of_columns ? rows_ : rows_ * cols_;
  }

  /// Those of that call.
  std::vector<Index> changed(std::int64_t number) const {
    std::vector<Index> elements;
    for (std::int64_t i = 0; i < (way_ == Way::of_rows ? rows_ : cols_); ++i) {
      elements.push_back(way_ == Way::of_rows ? Index{i, (number + i) % cols_}
                                              : Index{(number + i) % rows_, i});
    }
    return way_ == Way::single ? std::vector{Index{number / cols_, number % cols_}} : elements;
  }

  /// May that result show whether the element counts? What has its place shows it anyway.
  bool shows(Index result, Index element) const {
    switch (way_) {
      case Way::of_rows:
        return result.row == element.row && !(has_elements_ && result.col == element.col);
      case Way::of_columns:
        return result.col == element.col;
      case Way::single:
        return true;
    }
    return false;
  }

 private:
  enum class Way { of_rows, of_columns, single };
  std::int64_t rows_, cols_;
  bool has_elements_;
  Way way_ = Way::single;
};

/// How often the element counts: 0 if no result that has to change does, else by how many times
/// what it has to the one has changed that has to most; NaN if that is one of some that have not.
/// Nothing if none has to.
std::optional<double> times_counted(const Plan& plan, Index element, const Results& before,
                                    const Results& after) {
  double most = 0.0, times = 0.0;
  bool has_changed = false;
  for (std::int64_t row = 0; row < before.right.rows; ++row) {
    for (std::int64_t col = 0; col < before.right.cols; ++col) {
      const double change = after.right(row, col) - before.right(row, col);
      const double bounds = after.bound(row, col) + before.bound(row, col);
      const double was = before.got.get(row, col), is = after.got.get(row, col);
      if (!plan.shows({row, col}, element) || !(std::abs(change) > kFarOff * bounds) ||
          !std::isfinite(was) || is_poison(before.got, row, col, before.poison)) {
        continue;
      }
      has_changed = has_changed || is != was;
      if (std::abs(change) > most) {
        most = std::abs(change);
        times = (is - was) / change;
      }
    }
  }
  if (most == 0.0) {
    return std::nullopt;
  }
  return has_changed && times == 0.0 ? std::nan("") : times;
}

bool is_whole(double times) {
  return std::abs(times - std::round(times)) < 1e-3;
}

/// In words: few whole rows or columns each by its number.
std::string places(const Mask& lost) {
  constexpr std::int64_t kMostCounted = 8;
  const Pattern pattern = describe(lost);
  const bool are_columns = lost.rows > 1 && pattern.rows.kind == IndexSet::Kind::all;
  const bool are_rows = lost.cols > 1 && pattern.cols.kind == IndexSet::Kind::all;
  const IndexSet& set = are_columns ? pattern.cols : pattern.rows;
  if (!pattern.product || are_columns == are_rows || set.count > kMostCounted) {
    return pattern.text;
  }
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < set.size; ++i) {
    if ((are_columns ? lost(0, i) : lost(i, 0)) != 0) {
      numbers.push_back(i);
    }
  }
  return fmt::format("{}{} {}", are_columns ? "column" : "row", set.count > 1 ? "s" : "",
                     fmt::join(numbers, ", "));
}

/// Inputs that have rows and columns, and whose numbers the call has.
std::vector<const Buffer*> inputs_of(const Case& call) {
  std::vector<const Buffer*> inputs;
  for (const Buffer& buffer : call.buffers()) {
    const contract::Tensor* tensor = contract::tensor_of(call, buffer.name);
    if (tensor != nullptr && tensor->rows != contract::Extent(1) &&
        tensor->cols != contract::Extent(1) && buffer.role != Role::output && !buffer.null &&
        !buffer.hash && !is_integer(buffer.dtype) && buffer.rows > 0 && buffer.cols > 0) {
      inputs.push_back(&buffer);
    }
  }
  return inputs;
}

/// The same call with a number in those places that is far larger than all others, as far as fp16
/// holds it.
Case with_changed(const Case& call, const Buffer& input, const std::vector<Index>& elements) {
  double largest = 0.0;
  for (const double value : input.values.field().values) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  }
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    for (const Index& at : buffer.name == input.name ? elements : std::vector<Index>()) {
      buffer.values.set(at.row, at.col, std::min(kLarger * (largest + 1.0), kMostInFp16));
    }
  }
  return call.with(std::move(buffers));
}

/// A row of the output but `changed` that is not what it was, though it should be. again: the first
/// call once more, for what differs by chance.
std::optional<std::int64_t> changed_row(std::int64_t changed, const Results& before,
                                        const Results& after, const Matrix& again) {
  for (std::int64_t row = 0; row < before.right.rows; ++row) {
    for (std::int64_t col = 0; col < before.right.cols && row != changed; ++col) {
      const double was = before.got.get(row, col), is = after.got.get(row, col);
      const bool has_changed = !(std::abs(is - was) <= kFarOff * before.bound(row, col));
      if (after.right(row, col) == before.right(row, col) && has_changed && std::isfinite(was) &&
          again.get(row, col) == was) {
        return row;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> miscounted_elements(const Case& call, const Expected& expected,
                                               const Attempt& attempt) {
  const Expectation right = expected(call);
  const std::optional<Answer> answer = attempt(call);
  std::int64_t calls = 0;
  for (const Buffer* input : answer ? inputs_of(call) : std::vector<const Buffer*>()) {
    const Plan plan(input->values, right.value);
    calls += plan.calls();
    if (calls > kMostCalls) {
      return std::nullopt;
    }
    Mask lost(input->rows, input->cols), several = lost;
    std::int64_t tried = 0, lost_ones = 0, several_ones = 0;
    bool all_whole = true;  // else one that is comes by chance
    for (std::int64_t number = 0; number < plan.calls(); ++number) {
      const std::vector<Index> elements = plan.changed(number);
      const Case changed = with_changed(call, *input, elements);
      const std::optional<Answer> changed_answer = attempt(changed);
      if (!changed_answer) {
        return std::nullopt;
      }
      const Expectation changed_right = expected(changed);
      for (const Index& element : elements) {
        const std::optional<double> times = times_counted(
            plan, element, results_of(right, *answer), results_of(changed_right, *changed_answer));
        tried += times ? 1 : 0;
        lost(element.row, element.col) = times == 0.0;
        several(element.row, element.col) = times && *times > 1.5;
        all_whole = all_whole && (!times || is_whole(*times));
        lost_ones += lost(element.row, element.col);
        several_ones += several(element.row, element.col);
      }
    }
    const std::string what = fmt::format("What {} holds in ", input->name);
    if (lost_ones > 0 && lost_ones < tried) {
      return what + places(lost) + " does not enter " + right.output +
             ": with other numbers there the same comes out.";
    }
    if (all_whole && several_ones > 0 && several_ones < tried) {
      return what + places(several) + " enters " + right.output + " more than once.";
    }
  }
  return std::nullopt;
}

std::optional<std::string> foreign_rows(const Case& call, const Expected& expected,
                                        const Attempt& attempt) {
  const Expectation right = expected(call);
  const std::int64_t rows = right.value.rows;
  const std::optional<Answer> answer = rows > 1 ? attempt(call) : std::nullopt;
  const std::optional<Answer> again = answer ? attempt(call) : std::nullopt;
  for (const Buffer* input : again ? inputs_of(call) : std::vector<const Buffer*>()) {
    if (input->rows != rows) {
      continue;
    }
    for (const std::int64_t row : {rows / 2, rows - 1, std::int64_t{0}, std::int64_t{1}}) {
      std::vector<Index> elements;
      for (std::int64_t col = 0; col < input->cols; ++col) {
        elements.push_back({row, col});
      }
      const Case changed = with_changed(call, *input, elements);
      const std::optional<Answer> changed_answer = attempt(changed);
      if (!changed_answer) {
        return std::nullopt;
      }
      const std::optional<std::int64_t> other =
          changed_row(row, results_of(right, *answer),
                      results_of(expected(changed), *changed_answer), (*again)[right.output]);
      if (other) {
        return fmt::format(
            "What {} holds in row {} enters row {} of {}, which should not depend on it.",
            input->name, row, *other, right.output);
      }
    }
  }
  return std::nullopt;
}

}  // namespace onepass::verdict

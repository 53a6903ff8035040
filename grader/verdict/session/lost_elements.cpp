#include "verdict/session/lost_elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "verdict/contract/function.h"
#include "verdict/pattern.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostCalls = 320;
constexpr double kFarOff = 4.0;   // bounds: by so much a result has to change
constexpr double kLarger = 16.0;  // times the largest of the input: an element that is changed

/// The output of a call as it is, and as it must be.
struct Results {
  const Matrix& got;
  const Field& right;
  const Field& bound;
  Poison poison;
};

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

/// Nothing if no result has to change.
std::optional<bool> is_lost(const Plan& plan, Index element, const Results& before,
                            const Results& after) {
  bool has_to_change = false;
  for (std::int64_t row = 0; row < before.right.rows; ++row) {
    for (std::int64_t col = 0; col < before.right.cols; ++col) {
      if (!plan.shows({row, col}, element)) {
        continue;
      }
      const double change = std::abs(after.right(row, col) - before.right(row, col));
      if (!(change > kFarOff * (after.bound(row, col) + before.bound(row, col))) ||
          is_poison(before.got, row, col, before.poison)) {
        continue;
      }
      has_to_change = true;
      if (after.got.get(row, col) != before.got.get(row, col)) {
        return false;
      }
    }
  }
  return has_to_change ? std::optional(true) : std::nullopt;
}

/// In words: few whole rows or columns each by its number.
std::string places(const Mask& lost) {
  constexpr std::size_t kMostCounted = 8;
  std::vector<std::int64_t> rows, cols;
  std::int64_t in_rows = 0, in_cols = 0;
  for (std::int64_t row = 0; row < lost.rows; ++row) {
    const auto first = lost.values.begin() + row * lost.cols;
    if (std::find(first, first + lost.cols, 0) == first + lost.cols) {
      rows.push_back(row);
      in_rows += lost.cols;
    }
  }
  for (std::int64_t col = 0; col < lost.cols; ++col) {
    std::int64_t row = 0;
    while (row < lost.rows && lost(row, col) != 0) {
      ++row;
    }
    if (row == lost.rows) {
      cols.push_back(col);
      in_cols += lost.rows;
    }
  }
  const std::int64_t all = std::count(lost.values.begin(), lost.values.end(), 1);
  if (lost.cols > 1 && in_rows == all && rows.size() <= kMostCounted) {
    return fmt::format("row{} {}", rows.size() > 1 ? "s" : "", fmt::join(rows, ", "));
  }
  if (lost.rows > 1 && in_cols == all && cols.size() <= kMostCounted) {
    return fmt::format("column{} {}", cols.size() > 1 ? "s" : "", fmt::join(cols, ", "));
  }
  return describe(lost).text;
}

Case with_changed(const Case& call, const std::string& input, const std::vector<Index>& elements,
                  double number) {
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    for (const Index& at : buffer.name == input ? elements : std::vector<Index>()) {
      buffer.values.set(at.row, at.col, number);
    }
  }
  return call.with(std::move(buffers));
}

}  // namespace

std::optional<std::string> lost_elements(const Case& call,
                                         const std::function<Expectation(const Case&)>& expected,
                                         const Attempt& attempt) {
  const Expectation right = expected(call);
  const std::optional<Answer> answer = attempt(call);
  for (const Buffer& input : call.buffers()) {
    if (!answer || input.role == Role::output || input.null || input.hash ||
        is_integer(input.dtype) || input.rows < 1 || input.cols < 1) {
      continue;
    }
    const Plan plan(input.values, right.value);
    if (plan.calls() > kMostCalls) {
      continue;
    }
    const Field values = input.values.field();
    double largest = 0.0;
    for (const double value : values.values) {
      largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    }
    const double other = std::min(kLarger * (largest + 1.0), 30000.0);  // fp16 holds it
    Mask lost(input.rows, input.cols);
    std::int64_t tried = 0, count = 0;
    for (std::int64_t number = 0; number < plan.calls(); ++number) {
      const std::vector<Index> elements = plan.changed(number);
      const Case changed = with_changed(call, input.name, elements, other);
      const std::optional<Answer> changed_answer = attempt(changed);
      if (!changed_answer) {
        return std::nullopt;
      }
      const Expectation changed_right = expected(changed);
      for (const Index& element : elements) {
        const std::optional<bool> is = is_lost(
            plan, element, {(*answer)[right.output], right.value, right.bound, answer->poison},
            {(*changed_answer)[right.output], changed_right.value, changed_right.bound,
             changed_answer->poison});
        tried += is ? 1 : 0;
        count += is == true ? 1 : 0;
        lost(element.row, element.col) = is == true;
      }
    }
    if (count > 0 && count < tried) {
      return fmt::format(
          "What {} holds in {} does not enter {}: with other numbers there the same comes out.",
          input.name, places(lost), right.output);
    }
  }
  return std::nullopt;
}

}  // namespace onepass::verdict

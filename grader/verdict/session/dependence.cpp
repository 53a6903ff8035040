#include "verdict/session/dependence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/pattern.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostCalls = 128;          // to find what is lost, over all inputs
constexpr std::int64_t kMostNumbers = 1ll << 22;  // of the inputs of all these calls together
// Of more elements than that a sample is tried, by so many calls at least.
constexpr std::int64_t kFewestCalls = 32, kMostOfSample = 1ll << 20;
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

/// Rows and columns: the first, and the one after the last.
struct Part {
  std::pair<std::int64_t, std::int64_t> rows, cols;
};

/// In each call of a plan some elements of an input are changed, no two of which enter one result.
class Plan {
 public:
  Plan(const Matrix& input, const Field& output)
      : rows_(input.rows()),
        cols_(input.cols()),
        output_rows_(output.rows),
        output_cols_(output.cols),
        has_elements_(output.cols == cols_) {
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

  /// The results that may show whether the element counts.
  Part shown_by(Index element) const {
    Part part = {{0, output_rows_}, {0, output_cols_}};
    if (way_ == Way::of_rows) {
      part.rows = {element.row, element.row + 1};
    } else if (way_ == Way::of_columns) {
      part.cols = {element.col, element.col + 1};
    }
    return part;
  }

  /// Has the result the element's place? It then shows that anyway.
  bool is_at(Index result, Index element) const {
    return have_own_places() && result.col == element.col;
  }
  bool have_own_places() const { return has_elements_ && way_ == Way::of_rows; }

 private:
  enum class Way { of_rows, of_columns, single };
  std::int64_t rows_, cols_, output_rows_, output_cols_;
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
  const Part part = plan.shown_by(element);
  for (std::int64_t row = part.rows.first; row < part.rows.second; ++row) {
    for (std::int64_t col = part.cols.first; col < part.cols.second; ++col) {
      const double change = after.right(row, col) - before.right(row, col);
      const double bounds = after.bound(row, col) + before.bound(row, col);
      const double was = before.got.get(row, col), is = after.got.get(row, col);
      if (plan.is_at({row, col}, element) || !(std::abs(change) > kFarOff * bounds) ||
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

/// Elements of an input of which something was found.
struct Found {
  Mask mask;
  std::int64_t count = 0;
  Index first = {};

  explicit Found(const Buffer& input) : mask(input.rows, input.cols) {}

  void note(Index at, bool is_found) {
    first = is_found && count == 0 ? at : first;
    mask(at.row, at.col) = is_found;
    count += is_found ? 1 : 0;
  }

  /// of_so_many: of a sample; of all it is empty.
  std::string text(const std::string& of_so_many) const {
    return of_so_many.empty()
               ? places(mask)
               : fmt::format("row {}, column {} ({}{})", first.row, first.col,
                             count == 1 ? "the only one" : fmt::format("one of {}", count),
                             of_so_many);
  }
};

/// The steps of a plan of so many calls, where `made` were made already: all, or a sample of some
/// at both ends and some between. None if it would take too long.
std::vector<std::int64_t> steps_to_try(std::int64_t calls, std::int64_t made,
                                       std::int64_t numbers_of_call) {
  const bool are_all =
      made + calls <= kMostCalls && (made + calls) * numbers_of_call <= kMostNumbers;
  const std::int64_t most = std::min(kMostCalls - made, kMostOfSample / numbers_of_call);
  if (!are_all && most < kFewestCalls) {
    return {};
  }
  const std::int64_t number = are_all ? calls : most;
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < number; ++i) {
    const std::int64_t between = i * calls / number + i % std::max<std::int64_t>(1, calls / number);
    steps.push_back(are_all || i < number / 4  ? i
                    : i >= number - number / 4 ? calls - number + i
                                               : between);
  }
  return steps;
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

/// A number that is far larger than all others of the input, as far as fp16 holds it.
double far_larger(const Buffer& input) {
  double largest = 0.0;
  for (const double value : input.values.field().values) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  }
  return std::min(kLarger * (largest + 1.0), kMostInFp16);
}

/// The same call with that number in those places.
Case with_changed(const Case& call, const Buffer& input, const std::vector<Index>& elements,
                  double number) {
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    for (const Index& at : buffer.name == input.name ? elements : std::vector<Index>()) {
      buffer.values.set(at.row, at.col, number);
    }
  }
  return call.with(std::move(buffers));
}

/// Must any result of the other call be another one?
bool differ_by_far(const Expectation& one, const Expectation& other) {
  for (std::int64_t row = 0; row < one.value.rows; ++row) {
    for (std::int64_t col = 0; col < one.value.cols; ++col) {
      const double bounds = one.bound(row, col) + other.bound(row, col);
      if (std::abs(one.value(row, col) - other.value(row, col)) > kFarOff * bounds) {
        return true;
      }
    }
  }
  return false;
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

std::optional<std::string> unused_inputs(const Case& call, const Expected& expected,
                                         const Attempt& attempt) {
  const Expectation right = expected(call);
  const std::optional<Answer> answer = attempt(call);
  const Matrix* got = answer ? &(*answer)[right.output] : nullptr;
  if (got == nullptr || got->rows() * got->cols() > kMostNumbers / 8 ||
      is_poison(*got, 0, 0, answer->poison)) {
    return std::nullopt;
  }
  std::vector<std::string> unused;
  for (const Buffer& input : call.buffers()) {
    if (input.role != Role::input || input.null || input.hash || is_integer(input.dtype)) {
      continue;
    }
    // With other numbers of either sign; nothing if they need not show.
    const auto is_unused = [&](double factor) {
      const Case other = with_rows_changed(call, input, 0, input.rows, factor);
      const std::optional<Answer> changed = attempt(other);
      return changed && differ_by_far(right, expected(other)) &&
             !first_change(*got, (*changed)[right.output]);
    };
    if (is_unused(-2.0) && is_unused(0.5)) {
      unused.push_back(input.name);
    }
  }
  if (unused.empty()) {
    return std::nullopt;
  }
  return fmt::format(
      "What {} hold{} does not enter {}: with other numbers there the same comes out.",
      fmt::join(unused, " and "), unused.size() > 1 ? "" : "s", right.output);
}

std::optional<std::string> miscounted_elements(const Case& call, const Expected& expected,
                                               const Attempt& attempt) {
  const Expectation right = expected(call);
  const std::optional<Answer> answer = attempt(call);
  std::int64_t calls = 0;
  for (const Buffer* input : answer ? inputs_of(call) : std::vector<const Buffer*>()) {
    const Plan plan(input->values, right.value);
    const std::vector<std::int64_t> steps =
        steps_to_try(plan.calls(), calls, input->rows * input->cols);
    if (steps.empty()) {
      return std::nullopt;
    }
    calls += std::ssize(steps);
    // How often each of them counts with another number in its place.
    const auto counted = [&](const std::vector<Index>& elements, double number) {
      const Case changed = with_changed(call, *input, elements, number);
      const std::optional<Answer> changed_answer = attempt(changed);
      std::vector<std::optional<double>> times;
      const Expectation changed_right = expected(changed);
      for (const Index& element : changed_answer ? elements : std::vector<Index>()) {
        times.push_back(times_counted(plan, element, results_of(right, *answer),
                                      results_of(changed_right, *changed_answer)));
      }
      return times;
    };
    const double number = far_larger(*input);
    Found lost(*input), several(*input);
    std::int64_t tried = 0;
    bool all_whole = true;  // else one that is comes by chance
    for (const std::int64_t step : steps) {
      const std::vector<Index> elements = plan.changed(step);
      const std::vector<std::optional<double>> times = counted(elements, number);
      const bool any_lost = std::count(times.begin(), times.end(), 0.0) > 0;
      // A large number may be cut off: what is lost must be lost with one of the other sign too.
      const std::vector<std::optional<double>> again =
          any_lost ? counted(elements, -number / kLarger) : times;
      if (times.size() < elements.size() || again.size() < elements.size()) {
        return std::nullopt;
      }
      for (std::size_t i = 0; i < elements.size(); ++i) {
        tried += times[i] ? 1 : 0;
        lost.note(elements[i], times[i] == 0.0 && again[i].value_or(0.0) == 0.0);
        several.note(elements[i], times[i] && *times[i] > 1.5);
        all_whole = all_whole && (!times[i] || is_whole(*times[i]));
      }
    }
    const bool is_sample = std::ssize(steps) < plan.calls();
    const std::string of_so_many = fmt::format(" of {} that were tried", tried);
    if (lost.count > 0 && lost.count < tried) {
      return fmt::format(
          "What {} holds in {} does not enter {}{}: with {} there the same comes out{}.",
          input->name, lost.text(is_sample ? of_so_many : ""), right.output,
          plan.have_own_places() ? " but in its own place" : "",
          is_sample ? "another number" : "other numbers",
          plan.have_own_places() ? " everywhere else" : "");
    }
    if (all_whole && several.count > 0 && several.count < tried) {
      return fmt::format("What {} holds in {} enters {} more than once.", input->name,
                         several.text(is_sample ? of_so_many : ""), right.output);
    }
    if (is_sample && lost.count + several.count == 0 && right.value.rows == 1 &&
        right.value.cols == input->cols) {
      if (const auto row = miscounted_row(call, *input, right, *answer, expected, attempt)) {
        return row;
      }
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
      const Case changed = with_changed(call, *input, elements, far_larger(*input));
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

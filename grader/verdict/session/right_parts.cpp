// Of wrong numbers that are no mistake's: which part of them is right, and what that tells.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verdict/contract/call.h"
#include "verdict/pattern.h"
#include "verdict/session/experiments.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostTogether = 8;  // elements that a thread handles at once
constexpr std::int64_t kMostAfter = 1024;  // right by chance behind the first turn's elements
// Of a boundary in a row: so many columns behind it are no rest of a vector or a warp.
constexpr std::int64_t kClearlyBehind = 64;
constexpr std::int64_t kLeastGrid = 4096;  // threads whose number is met by no accident
constexpr std::int64_t kMostRowElements = std::int64_t{1} << 22;

/// How many of the first elements are right, if most of the others are wrong; else 0.
std::int64_t right_at_first(const Mask& wrong) {
  const auto first = std::find(wrong.values.begin(), wrong.values.end(), 1);
  const auto wrong_ones = std::count(first, wrong.values.end(), 1);
  return 2 * wrong_ones > wrong.values.end() - first ? first - wrong.values.begin() : 0;
}

/// As many as one of `threads` handles at once, for each of them: the first such number up to
/// `right`, and at most `more` below it.
std::int64_t first_turn(const std::vector<std::int64_t>& threads, std::int64_t right,
                        std::int64_t more) {
  for (const std::int64_t number : threads) {
    for (std::int64_t together = 1; together <= kMostTogether; together *= 2) {
      const std::int64_t elements = number * together;
      if (elements <= right && right - elements <= more) {
        return elements;
      }
    }
  }
  return 0;
}

/// The columns of a block's first turn, if in every row those are right and all others wrong.
std::int64_t columns_of_first_turn(const Mask& wrong, const Threads& threads) {
  const Pattern pattern = describe(wrong);
  const bool is_tail =
      pattern.product && pattern.cols.is_tail() && pattern.rows.kind == IndexSet::Kind::all;
  return is_tail ? first_turn(threads.of_blocks, pattern.cols.first, 0) : 0;
}

/// As many rows as there are blocks, or some for each, if those are the first that are right.
std::int64_t rows_of_first_turn(const Comparison& comparison, std::int64_t right,
                                const Threads& threads) {
  std::vector<std::int64_t> grids = threads.blocks();
  std::erase_if(grids, [](std::int64_t number) { return number < kLeastGrid; });
  return comparison.unwritten > 0 ? 0 : first_turn(grids, right / comparison.wrong_mask.cols, 0);
}

/// What the call's function calls the number of its columns; empty where that is no single size.
std::string width_of(const Case& call) {
  const contract::Tensor* x = call.contract() == nullptr ? nullptr : call.contract()->find("x");
  return x != nullptr && x->cols.factors.size() == 1 && x->cols.divisor == 1 ? x->cols.text() : "";
}

/// Is each row a block's, of one launch or another, and only those of the first launch are right?
bool are_of_first_launch(std::int64_t right, std::int64_t rows, const Threads& threads) {
  const std::vector<std::int64_t> blocks = threads.blocks();
  const auto& of_blocks = threads.of_blocks;
  std::int64_t behind = 0;  // rows of launches that are like the first
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    behind += of_blocks[i] == of_blocks[0] && blocks[i] <= blocks[0] ? blocks[i] : 0;
  }
  return !blocks.empty() && blocks[0] == right && behind > 0 && right + behind == rows;
}

Diagnosis of_first_launch(std::int64_t rows) {
  return {"first-turn-only",
          fmt::format("Right are the first {} rows only, those of the first launch. In the next "
                      "one all that is numbered by row has to begin at its first row: what has no "
                      "stride, such as mean and rstd, too.",
                      rows)};
}

Diagnosis of_first_turn(std::int64_t elements, const char* what) {
  return {"first-turn-only",
          fmt::format("Right are the first {} {} only, those that the threads come to first. What "
                      "belongs to an element, such as its weight, channel or angle, is to be found "
                      "in each turn of the loop, not once before it.",
                      elements, what)};
}

}  // namespace

std::optional<Diagnosis> explain_first_turn(const WrongOutput& wrong, const Threads& threads,
                                            const TryAgain& again) {
  const Comparison& comparison = wrong.comparison;
  std::vector<std::int64_t> grids = threads.of_grids;
  std::erase_if(grids, [](std::int64_t number) { return number < kLeastGrid; });
  const std::int64_t right = right_at_first(comparison.wrong_mask);
  if (const std::int64_t elements = first_turn(grids, right, kMostAfter)) {
    return of_first_turn(elements, "elements");
  }
  if (const std::int64_t rows = rows_of_first_turn(comparison, right, threads)) {
    return are_of_first_launch(rows, comparison.wrong_mask.rows, threads)
               ? of_first_launch(rows)
               : of_first_turn(rows, "rows");
  }
  const std::int64_t columns = columns_of_first_turn(comparison.wrong_mask, threads);
  const auto same_again = [&](const Case& other) {
    const std::optional<std::pair<Comparison, Threads>> now = again(other);
    return now && now->first.wrong_mask.cols >= columns + kClearlyBehind &&
           columns_of_first_turn(now->first.wrong_mask, now->second) == columns;
  };
  return columns > 0 && in_another_shape(wrong.call, same_again)
             ? std::optional(of_first_turn(columns, "columns"))
             : std::nullopt;
}

std::optional<Diagnosis> explain_empty_threads(const WrongOutput& wrong, const Threads& threads,
                                               const TryAgain& again) {
  const std::string width = width_of(wrong.call);
  if (width.empty() || threads.of_blocks.empty() || !std::isnan(wrong.comparison.got) ||
      wrong.comparison.unwritten > 0) {
    return std::nullopt;
  }
  const std::int64_t most = *std::max_element(threads.of_blocks.begin(), threads.of_blocks.end());
  const auto is = [&](bool nan, std::int64_t cols) {
    contract::Sizes sizes = contract::sizes_of(wrong.call);
    for (const std::string& rows : wrong.call.contract()->row_sizes()) {
      sizes[rows] = 1;
    }
    sizes[width] = cols;
    const std::optional<Case> other = contract::resized(wrong.call, sizes, kMostRowElements);
    const auto now = other ? again(*other) : std::nullopt;
    return now &&
           (nan ? std::isnan(now->first.got) && now->first.unwritten == 0 : now->first.right());
  };
  // Odd ones: no vector divides them. Widest that is NaN, narrowest that is right.
  std::int64_t narrow = 3;
  std::int64_t wide = 2 * most + 1;
  if (!is(true, narrow) || !is(false, wide)) {
    return std::nullopt;
  }
  while (wide - narrow > 2) {
    const std::int64_t middle = (narrow + wide) / 4 * 2 + 1;
    if (is(true, middle)) {
      narrow = middle;
    } else if (is(false, middle)) {
      wide = middle;
    } else {
      return std::nullopt;
    }
  }
  if (narrow >= most || !is(true, narrow / 4 * 2 + 1) || !is(false, 2 * wide + 1)) {
    return std::nullopt;
  }
  return Diagnosis{
      "wrong-when-narrow",
      fmt::format(
          "With {0} = {1} and fewer the results are NaN, with {0} = {2} and more they are "
          "right, and a block has {3} threads: it seems to come of those that have no element. "
          "Does their count of 0 divide something, as where two empty parts are merged? "
          "Leave such parts out.",
          width, narrow, wide, most)};
}

std::optional<Diagnosis> explain_lost_rows(
    const WrongOutput& wrong, const std::function<Expectation(const Case&)>& expected) {
  const Case& call = wrong.call;
  const contract::Tensor* tensor = contract::tensor_of(call, wrong.expectation.output);
  if (tensor == nullptr || tensor->rows != contract::Extent(1)) {
    return std::nullopt;
  }
  for (const std::string& rows : call.contract()->row_sizes()) {
    contract::Sizes sizes = contract::sizes_of(call);
    for (std::int64_t first = std::int64_t{1} << 16; first < call.integer(rows); first *= 2) {
      sizes[rows] = first;
      const std::optional<Case> fewer = contract::resized(call, sizes, kMostRowElements);
      const Expectation sum = fewer ? expected(*fewer) : Expectation{};
      if (fewer && compare(wrong.answer[sum.output], sum.value, sum.bound, std::nullopt).right()) {
        return Diagnosis{
            "stripe-dropped",
            fmt::format("These are the sums of the first {} {} only: let the groups go on to those "
                        "behind, or give each group more of them.",
                        first, rows)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace onepass::verdict

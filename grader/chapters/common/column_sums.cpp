// Ways to go wrong in a sum down the columns.
//
// How many groups the rows are shared among the grader cannot know: every usual number is tried.
#include "chapters/common/column_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "chapters/common/misread.h"
#include "chapters/common/rows.h"
#include "verdict/case.h"
#include "verdict/diagnosis.h"

namespace onepass::common {

using verdict::Dtype;
using verdict::Field;

namespace {

using Counted = std::function<bool(std::int64_t row, std::int64_t rows)>;

WrongColumnSum only_rows(std::string mistake, std::string sentence, Counted counted) {
  return {std::move(mistake), std::move(sentence),
          [counted = std::move(counted)](Dtype, const Field& terms) {
            return column_sums(only(
                terms, [&](std::int64_t row, std::int64_t) { return counted(row, terms.rows); }));
          },
          verdict::kSlack};
}

void append_lost_rows(std::vector<WrongColumnSum>& all) {
  for (std::int64_t group : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(only_rows(
        "stripe-dropped",
        fmt::format("The last rows of the tensor are missing: rows / {0} was rounded down, and "
                    "what is left over belongs to nobody. Let group g take rows g, g + {0}, ... "
                    "below rows, or round up.",
                    group),
        [group](std::int64_t row, std::int64_t rows) { return row < rows / group * group; }));
  }
  for (std::int64_t groups : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(only_rows("stripe-dropped",
                            fmt::format("Only the first {} rows were added up.", groups),
                            [groups](std::int64_t row, std::int64_t) { return row < groups; }));
    all.push_back(only_rows(
        "lost-updates",
        "Only the rows of one block arrived, the last to write: blocks overwrote each other's "
        "sums. Give each its own partial sums, or add with atomicAdd.",
        [groups](std::int64_t row, std::int64_t rows) {
          const std::int64_t there = std::min(groups, rows);
          return groups > 1 && row % there == there - 1;
        }));
    all.push_back(only_rows(
        "lost-updates",
        "Only each block's last row arrived: each row overwrote the sums of those before it. Add "
        "to them.",
        [groups](std::int64_t row, std::int64_t rows) { return row >= rows - groups; }));
    all.push_back(only_rows(
        "stripe-dropped",
        "Only the rows of the first group arrived: the second stage has to add up all groups.",
        [groups](std::int64_t row, std::int64_t) { return groups > 1 && row % groups == 0; }));
  }
  for (std::int64_t slices : {4, 8, 16, 32, 64}) {
    all.push_back(only_rows(
        "stripe-dropped",
        "Only the first half of the partial sums was added up: the second stage has to add up all "
        "of them.",
        [slices](std::int64_t row, std::int64_t) { return row % slices < slices / 2; }));
  }
  all.push_back(only_rows(
      "lost-updates",
      "Only the last row arrived: each row overwrote the sums of those before it. Add them up.",
      [](std::int64_t row, std::int64_t rows) { return row == rows - 1; }));
}

void append_axes(std::vector<WrongColumnSum>& all) {
  all.push_back({"summed-over-columns",
                 "These are the sums of the rows: add up along the other axis, all rows of one "
                 "column.",
                 [](Dtype, const Field& terms) -> std::optional<Field> {
                   const std::optional<Field> turned = transposed(terms);
                   return turned ? std::optional<Field>(column_sums(*turned)) : std::nullopt;
                 },
                 verdict::kSlack});
  all.push_back({"sum-not-mean", "These are means over the rows: the gradient is their sum.",
                 [](Dtype, const Field& terms) {
                   return map(column_sums(terms),
                              [&](double sum) { return sum / static_cast<double>(terms.rows); });
                 },
                 verdict::kSlack});
}

void append_garbage(std::vector<WrongColumnSum>& all) {
  const char* const sentence =
      "The sum was added to what the memory held before: set outputs and partial sums to zero "
      "first, or write instead of adding.";
  for (bool in_output : {true, false}) {
    for (int times : {1, 2, 3, 4, 7, 8, 16, 32, 64}) {
      all.push_back(
          {"accumulated-into-garbage", sentence,
           [=](Dtype dtype, const Field& terms) {
             const std::vector<std::byte> bytes(4, static_cast<std::byte>(verdict::Poison::finite));
             const double poison = verdict::decode(in_output ? dtype : Dtype::fp32, bytes.data());
             return map(column_sums(terms), [&](double sum) { return sum + times * poison; });
           },
           verdict::kSlack});
    }
  }
  all.push_back({"accumulated-into-garbage", sentence,
                 [](Dtype, const Field& terms) {
                   return Field(1, terms.cols, std::numeric_limits<double>::quiet_NaN());
                 },
                 verdict::kSlack});
}

/// The rows shared among groups, each of which is added up by `part`; the groups in fp64.
using Part = std::function<double(Dtype dtype, const Field& terms, std::int64_t group,
                                  std::int64_t groups, std::int64_t col)>;
WrongColumnSum in_groups(std::string mistake, std::string sentence, std::int64_t groups,
                         Part part) {
  auto sums = [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
    if (dtype == Dtype::fp32) {
      return std::nullopt;
    }
    const std::int64_t there = std::min(groups, terms.rows);
    Field total(1, terms.cols);
    for (std::int64_t group = 0; group < there; ++group) {
      for (std::int64_t col = 0; col < terms.cols; ++col) {
        total(0, col) += part(dtype, terms, group, there, col);
      }
    }
    return total;
  };
  return {std::move(mistake), std::move(sentence), sums, verdict::kSixteenBitSlack};
}

double rounded_at_the_end(Dtype dtype, const Field& terms, std::int64_t group, std::int64_t groups,
                          std::int64_t col) {
  double sum = 0.0;
  for (std::int64_t row = group; row < terms.rows; row += groups) {
    sum += terms(row, col);
  }
  return verdict::round_to(dtype, sum);
}

double rounded_at_each_row(Dtype dtype, const Field& terms, std::int64_t group, std::int64_t groups,
                           std::int64_t col) {
  double sum = 0.0;
  for (std::int64_t row = group; row < terms.rows; row += groups) {
    sum = verdict::round_to(dtype, sum + terms(row, col));
  }
  return sum;
}

void append_sixteen_bit(std::vector<WrongColumnSum>& all) {
  for (std::int64_t groups : {64, 512, 256, 128, 32, 16, 8, 4, 2, 1024}) {
    all.push_back(in_groups(
        "half-partials",
        "The partial sums were rounded to the 16-bit type, which loses what is small beside them: "
        "keep them in float until the very end.",
        groups, rounded_at_the_end));
    all.push_back(in_groups(
        "half-accumulation",
        "The sum is what adding up in the 16-bit type gives: convert to float and add in float.",
        groups, rounded_at_each_row));
  }
}

}  // namespace

std::vector<WrongColumnSum> wrong_column_sums() {
  std::vector<WrongColumnSum> all;
  append_axes(all);
  append_lost_rows(all);
  append_garbage(all);
  append_sixteen_bit(all);
  return all;
}

}  // namespace onepass::common

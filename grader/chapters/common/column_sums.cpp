// Ways to go wrong in a sum down the columns.
//
// How many groups the rows are shared among the grader cannot know: every usual number is tried.
#include "chapters/common/column_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "chapters/common/misread.h"

namespace onepass::common {

using verdict::Dtype;

namespace {

using Ways = std::vector<Way<BackwardHooks>>;

/// The sums over the rows for which counted(row, rows).
template <typename Counted>
BackwardHooks only_rows(Counted counted) {
  return {.column_sums = [counted](Dtype, const Field& terms) {
    return column_sums(
        only(terms, [&](std::int64_t row, std::int64_t) { return counted(row, terms.rows); }));
  }};
}

Ways stripes_dropped() {
  Ways all;
  for (std::int64_t group : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(
        {fmt::format("The last rows of the tensor are missing: rows / {0} was rounded down, and "
                     "what is left over belongs to nobody. Let group g take rows g, g + {0}, ... "
                     "below rows, or round up.",
                     group),
         only_rows([group](auto row, auto rows) { return row < rows / group * group; })});
  }
  for (std::int64_t groups : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back({fmt::format("Only the first {} rows were added up.", groups),
                   only_rows([groups](auto row, auto) { return row < groups; })});
  }
  for (std::int64_t groups : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(
        {"Only the rows of the first group arrived: the second stage has to add up all groups.",
         only_rows([groups](auto row, auto) { return row % groups == 0; })});
  }
  for (std::int64_t slices : {4, 8, 16, 32, 64}) {
    all.push_back(
        {"Only the first half of the partial sums was added up: the second stage has to add up all "
         "of them.",
         only_rows([slices](auto row, auto) { return row % slices < slices / 2; })});
  }
  return all;
}

Ways updates_lost() {
  Ways all = {
      {"No row arrived, and the sums are 0: write what was added up, and after adding up.",
       only_rows([](auto, auto) { return false; })},
      {"Only the last row arrived: each row overwrote the sums of those before it. Add them up.",
       only_rows([](auto row, auto rows) { return row == rows - 1; })}};
  for (std::int64_t groups : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(
        {"Only the rows of one block arrived, the last to write: blocks overwrote each other's "
         "sums. Give each its own partial sums, or add with atomicAdd.",
         only_rows([groups](auto row, auto rows) {
           const std::int64_t there = std::min(groups, rows);
           return row % there == there - 1;
         })});
    all.push_back(
        {"Only each block's last row arrived: each row overwrote the sums of those before it. Add "
         "to them.",
         only_rows([groups](auto row, auto rows) { return row >= rows - groups; })});
  }
  return all;
}

Ways garbage_added() {
  const char* const sentence =
      "The sum was added to what the memory held before: set outputs and partial sums to zero "
      "first, or write instead of adding.";
  Ways all;
  for (bool in_output : {true, false}) {
    for (int times : {1, 2, 3, 4, 7, 8, 16, 32, 64}) {
      all.push_back(
          {sentence, {.column_sums = [=](Dtype dtype, const Field& terms) {
             const std::vector<std::byte> bytes(4, static_cast<std::byte>(verdict::Poison::finite));
             const double poison = verdict::decode(in_output ? dtype : Dtype::fp32, bytes.data());
             return map(column_sums(terms), [&](double sum) { return sum + times * poison; });
           }}});
    }
  }
  all.push_back({sentence, {.column_sums = [](Dtype, const Field& terms) {
                   return Field(1, terms.cols, std::numeric_limits<double>::quiet_NaN());
                 }}});
  return all;
}

/// Group g adds up rows g, g + groups, ... and rounds, at each row or at the end; the groups' sums
/// are added in fp64.
Ways rounded_in_groups(const char* sentence, bool at_each_row) {
  Ways all;
  for (std::int64_t groups : {64, 512, 256, 128, 32, 16, 8, 4, 2, 1024}) {
    const auto sums = [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
      if (dtype == Dtype::fp32) {
        return std::nullopt;
      }
      const std::int64_t there = std::min(groups, terms.rows);
      Field partial(there, terms.cols);
      for (std::int64_t row = 0; row < terms.rows; ++row) {
        for (std::int64_t col = 0; col < terms.cols; ++col) {
          double& sum = partial(row % there, col);
          sum += terms(row, col);
          sum = at_each_row ? verdict::round_to(dtype, sum) : sum;
        }
      }
      return column_sums(rounded(dtype, partial));
    };
    all.push_back({sentence, {.column_sums = sums}, verdict::kSixteenBitSlack});
  }
  return all;
}

}  // namespace

Table<BackwardHooks> column_sum_mistakes() {
  return {
      {"summed-over-columns",
       {{"These are the sums of the rows: add up along the other axis, all rows of one column.",
         {.column_sums = [](Dtype, const Field& terms) -> std::optional<Field> {
           const std::optional<Field> turned = transposed(terms);
           return turned ? std::optional(column_sums(*turned)) : std::nullopt;
         }}}}},
      {"sum-not-mean",
       {{"These are means over the rows: the gradient is their sum.",
         {.column_sums =
              [](Dtype, const Field& terms) {
                const auto rows = static_cast<double>(terms.rows);
                return map(column_sums(terms), [rows](double sum) { return sum / rows; });
              }}}}},
      {"stripe-dropped", stripes_dropped()},
      {"lost-updates", updates_lost()},
      {"accumulated-into-garbage", garbage_added()},
      {"half-partials",
       rounded_in_groups("The partial sums were rounded to the 16-bit type, which loses what is "
                         "small beside them: keep them in float until the very end.",
                         false)},
      {"half-accumulation",
       rounded_in_groups("The sum is what adding up in the 16-bit type gives: convert to float and "
                         "add in float.",
                         true)},
  };
}

}  // namespace onepass::common

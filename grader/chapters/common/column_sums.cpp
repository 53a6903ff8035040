// Ways to go wrong in a sum down the columns. The rows are shared among groups: group g of n has
// rows g, g + n, g + 2 n, ...
#include "chapters/common/column_sums.h"

#include <algorithm>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"

namespace onepass::common {

using verdict::Dtype;

namespace {

using Ways = std::vector<Way<BackwardHooks>>;

/// The sums over the rows, each as often as that says.
BackwardHooks rows_times(const std::function<double(std::int64_t row, std::int64_t rows)>& times) {
  return {.column_sums = [times](Dtype, const Field& terms) {
    return column_sums(product(terms, verdict::field_of(terms.rows, 1, [&](auto row, auto) {
                                 return times(row, terms.rows);
                               })));
  }};
}

BackwardHooks only_rows(const Counted& counted) {
  return rows_times([counted](auto row, auto rows) { return counted(row, rows) ? 1.0 : 0.0; });
}

BackwardHooks twice_rows(const Counted& counted) {
  return rows_times([counted](auto row, auto rows) { return counted(row, rows) ? 2.0 : 1.0; });
}

const std::vector<Loss> kLostRows = {
    {"stripe-dropped",
     {2, 4, 8, 16, 32, 64, 128, 256, 512},
     "The last rows of the tensor are missing: rows / groups was rounded down, and what is left "
     "over belongs to nobody. Let group g take rows g, g + groups, ... below rows, or round up.",
     [](auto row, auto rows, auto groups) { return row < rows / groups * groups; }},
    {"stripe-dropped",
     {1},
     "Only the first row was added up.",
     [](auto row, auto, auto groups) { return row < groups; }},
    {"stripe-dropped",
     {2, 4, 8, 16, 32, 64, 128, 256, 512},
     "Only the first {n} rows were added up.",
     [](auto row, auto, auto groups) { return row < groups; }},
    {"stripe-dropped",
     {2, 4, 8, 16, 32, 64, 128, 256, 512},
     "Only the rows of the first group arrived: all groups are to be added up, those of a block as "
     "well as those of all blocks.",
     [](auto row, auto, auto groups) { return row % groups == 0; }},
    {"stripe-dropped",
     {4, 8, 16, 32, 64},
     "Only the first half of the partial sums was added up: the second stage has to add up all of "
     "them.",
     [](auto row, auto, auto groups) { return row % groups < groups / 2; }},
    {"lost-updates",
     {0},
     "No row arrived, and the sums are 0: write what was added up, and after adding up.",
     [](auto row, auto, auto none) { return row < none; }},
    {"lost-updates",
     {1},
     "Only the last row arrived: each row overwrote the sums of those before it. Add them up.",
     [](auto row, auto rows, auto last) { return row == rows - last; }},
    {"lost-updates",
     {2, 4, 8, 16, 32, 64, 128, 256, 512},
     "Only the rows of one block arrived, the last to write: blocks overwrote each other's sums. "
     "Give each its own partial sums, or add with atomicAdd.",
     [](auto row, auto rows, auto groups) {
       const auto there = std::min(groups, rows);
       return row % there == there - 1;
     }},
    {"lost-updates",
     {2, 4, 8, 16, 32, 64, 128, 256, 512},
     "Only each block's last row arrived: each row overwrote the sums of those before it. Add to "
     "them.",
     [](auto row, auto rows, auto groups) { return row >= rows - groups; }},
};

const std::vector<Loss> kDoubledRows = {
    {"stripe-added-twice", {1}, "Each row was added twice.", [](auto, auto, auto) { return true; }},
    {"stripe-added-twice",
     {16, 32, 8, 4, 2, 64, 128, 256, 512},
     "One row in {n}, beginning with row 0, was added twice: whose sum begins with the first "
     "group's goes on with the second.",
     [](auto row, auto, auto groups) { return row % groups == 0; }},
    {"stripe-added-twice",
     {16, 32, 8, 4, 2, 64, 128, 256, 512},
     "One row in {n}, the last of them, was added twice: was a group too many added up, with what "
     "the one before had left?",
     [](auto row, auto, auto groups) { return row % groups == groups - 1; }},
    {"stripe-added-twice",
     {1},
     "The last row was added twice: who has no row of its own adds nothing.",
     [](auto row, auto rows, auto last) { return row == rows - last; }},
};

Ways garbage_added() {
  const char* const sentence =
      "The sum was added to what the memory held before: set outputs and partial sums to zero "
      "first, or write instead of adding.";
  Ways all;
  for (bool in_output : {true, false}) {
    for (int times : {1, 2, 3, 4, 7, 8, 16, 32, 64}) {
      all.push_back({sentence, {.column_sums = [=](Dtype dtype, const Field& terms) {
                       const double held = poison(in_output ? dtype : Dtype::fp32);
                       return map(column_sums(terms),
                                  [&](double sum) { return sum + times * held; });
                     }}});
    }
  }
  return all;
}

/// Group g adds up rows g, g + groups, ... and rounds, at each row or at the end; the groups' sums
/// are added in fp64. Nothing at one row a group: that is what rounded_terms() gives.
Ways rounded_sums() {
  const char* const sentence =
      "Sums were rounded to the 16-bit type on the way, which loses what is small beside them: "
      "keep them in float until the very end.";
  Ways all;
  for (const bool at_each_row : {false, true}) {
    for (std::int64_t groups : {64, 512, 256, 128, 32, 16, 8, 4, 2, 1024}) {
      const auto sums = [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
        if (dtype == Dtype::fp32 || groups >= terms.rows) {
          return std::nullopt;
        }
        const std::int64_t there = groups;
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
      all.push_back({sentence, {.column_sums = sums}, verdict::kSixteenBitNoise});
    }
  }
  return all;
}

/// The groups' sums are floats, and their total is rounded at each of them.
Ways rounded_totals() {
  Ways all;
  for (const std::int64_t groups : {128, 512, 256, 64, 32, 16, 8, 4, 2, 1024}) {
    const auto sums = [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
      if (dtype == Dtype::fp32) {
        return std::nullopt;
      }
      const std::int64_t there = std::min(groups, terms.rows);
      Field partial(there, terms.cols);
      for (std::int64_t row = 0; row < terms.rows; ++row) {
        for (std::int64_t col = 0; col < terms.cols; ++col) {
          partial(row % there, col) += terms(row, col);
        }
      }
      Field total(1, terms.cols);
      for (std::int64_t group = 0; group < there; ++group) {
        for (std::int64_t col = 0; col < terms.cols; ++col) {
          total(0, col) = verdict::round_to(dtype, total(0, col) + partial(group, col));
        }
      }
      return total;
    };
    all.push_back(
        {"The total was kept in the 16-bit type while the partial sums were added to it, "
         "which loses what is small beside it: add up in float, and round once.",
         {.column_sums = sums},
         verdict::kSixteenBitNoise});
  }
  return all;
}

/// Each product is rounded before it is added, whether its x_hat was rounded too or not. So it is
/// where each group has one row, and rounds its sum.
Ways rounded_terms() {
  const char* const sentence =
      "Products, or sums of single rows, were rounded to the 16-bit type before they were added "
      "up: "
      "multiply and add as floats, and keep partial sums as floats.";
  const auto sums = [](Dtype dtype, const Field& terms) -> std::optional<Field> {
    return dtype == Dtype::fp32 ? std::nullopt : std::optional(column_sums(rounded(dtype, terms)));
  };
  const auto as_it_is = [](Backward& pass) { pass.rounded_x_hat = false; };
  return {{sentence, {.column_sums = sums}, verdict::kSixteenBitNoise},
          {sentence, {.x_hat = as_it_is, .column_sums = sums}, verdict::kSixteenBitNoise}};
}

}  // namespace

Table<BackwardHooks> column_sum_mistakes() {
  const Table<BackwardHooks> wrong_sums = {
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
  };
  const Table<BackwardHooks> rest = {
      {"accumulated-into-garbage", garbage_added()},
      {"half-partials", rounded_terms()},
      {"half-partials", rounded_sums()},
      {"half-partials", rounded_totals()},
  };
  return joined<BackwardHooks>({wrong_sums, placed(ways_to_lose(kLostRows), only_rows),
                                placed(ways_to_lose(kDoubledRows), twice_rows), rest});
}

}  // namespace onepass::common

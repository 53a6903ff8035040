#include "chapters/common/row_walks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chapters/common/rows.h"

namespace onepass::common {

using verdict::WrongRows;

namespace {

/// Does some launch take n rows at a time: several blocks a row, or in each block up to a row a
/// warp?
bool is_a_step(std::int64_t n, const std::vector<verdict::LaunchSize>& launches) {
  return launches.empty() || std::any_of(launches.begin(), launches.end(), [&](const auto& launch) {
           return launch.blocks > 0 && n > 0 &&
                  (launch.blocks % n == 0 ||
                   (n % launch.blocks == 0 &&
                    n / launch.blocks <= std::max<std::int64_t>(launch.threads / 32, 1)));
         });
}

/// A block has every n-th row, or n side by side. One block for all rows is nothing to go by: who
/// takes row 0's mean for every row does the same.
std::optional<RowsBefore> every(std::int64_t n, std::int64_t rows) {
  if (n < 2 || n >= rows) {
    return std::nullopt;
  }
  RowsBefore before;
  for (std::int64_t row = 0; row < rows; ++row) {
    before.push_back(row < n ? -1 : row - n);
  }
  return before;
}

std::optional<RowsBefore> every_step(std::int64_t n, const WrongRows& wrong) {
  return is_a_step(n, wrong.launches) ? every(n, wrong.rows) : std::nullopt;
}

std::optional<RowsBefore> side_by_side(std::int64_t n, std::int64_t rows) {
  if (n < 2 || n >= rows) {
    return std::nullopt;
  }
  RowsBefore before;
  for (std::int64_t row = 0; row < rows; ++row) {
    before.push_back(row % n == 0 ? -1 : row - 1);
  }
  return before;
}

/// Each row's sum and `times` what its block's row before it came to.
RowSum carried(const RowsBefore& before, double times) {
  return [=](verdict::Dtype, const Field& terms) -> std::optional<Field> {
    Field sums = row_sums(terms);
    if (sums.values.size() != before.size()) {
      return std::nullopt;
    }
    for (std::size_t row = 0; row < before.size(); ++row) {
      sums.values[row] += before[row] < 0 ? 0.0 : times * sums(before[row], 0);
    }
    return sums;
  };
}

}  // namespace

std::vector<RowWalk> walks_right_at_first() {
  return {[](const WrongRows& wrong) { return every_step(wrong.first, wrong); },
          [](const WrongRows& wrong) {
            return wrong.first == 1 ? side_by_side(wrong.right_again, wrong.rows) : std::nullopt;
          }};
}

std::vector<RowWalk> walks_right_at_last() {
  return {[](const WrongRows& wrong) { return every_step(wrong.rows - 1 - wrong.last, wrong); },
          [](const WrongRows& wrong) {
            return wrong.first == 0 ? side_by_side(wrong.right_again + 1, wrong.rows)
                                    : std::nullopt;
          }};
}

std::optional<RowsBefore> rows_of_blocks(std::int64_t blocks, std::int64_t rows,
                                         bool are_side_by_side) {
  return are_side_by_side ? side_by_side((rows + blocks - 1) / blocks, rows) : every(blocks, rows);
}

std::vector<std::int64_t> first_rows(const RowsBefore& before) {
  std::vector<std::int64_t> first;
  for (std::size_t row = 0; row < before.size(); ++row) {
    first.push_back(before[row] < 0 ? static_cast<std::int64_t>(row)
                                    : first[static_cast<std::size_t>(before[row])]);
  }
  return first;
}

std::vector<std::int64_t> next_rows(const RowsBefore& before) {
  std::vector<std::int64_t> next;
  for (std::size_t row = 0; row < before.size(); ++row) {
    next.push_back(static_cast<std::int64_t>(row));
    if (before[row] >= 0) {
      next[static_cast<std::size_t>(before[row])] = static_cast<std::int64_t>(row);
    }
  }
  return next;
}

std::vector<std::int64_t> previous_rows(const RowsBefore& before) {
  std::vector<std::int64_t> previous;
  for (std::size_t row = 0; row < before.size(); ++row) {
    previous.push_back(before[row] < 0 ? static_cast<std::int64_t>(row) : before[row]);
  }
  return previous;
}

std::optional<Field> taken(const Field& field, const std::vector<std::int64_t>& whose) {
  if (field.rows != static_cast<std::int64_t>(whose.size())) {
    return std::nullopt;
  }
  return verdict::field_of(field.rows, field.cols, [&](auto row, auto col) {
    return field(whose[static_cast<std::size_t>(row)], col);
  });
}

Table<RowSum> carried_sums(const RowWords& words) {
  const std::string reset =
      fmt::format(" of the block's {0} before this one: set it to 0 for each {0}.", words.row);
  Mistake<RowSum> mistake{"sum-not-reset", {}};
  for (const RowWalk& walk : walks_right_at_first()) {
    // A thread goes on with its own share, or with the total of all threads, each of them.
    for (double times : {1.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0}) {
      mistake.ways.push_back({.sentence = (times == 1.0 ? "The sum still held that"
                                                        : "Each thread began with the sum") +
                                          reset,
                              .hooks = {},
                              .of_rows = [=](const WrongRows& wrong) -> std::optional<RowSum> {
                                const std::optional<RowsBefore> before = walk(wrong);
                                return before ? std::optional(carried(*before, times))
                                              : std::nullopt;
                              }});
    }
  }
  return {mistake};
}

constexpr std::int64_t kUsual = 4;  // rows that a block has at once

Table<RowSum> shared_sums(const RowWords& words) {
  enum class Whose { first, last, all };
  Mistake<RowSum> mistake{"prefetch-mixed-up", {}};
  for (std::int64_t together : {4, 8, 2, 16, 32}) {
    for (const auto& [whose, name] : {std::pair(Whose::first, "the first of them"),
                                      {Whose::last, "the last of them"},
                                      {Whose::all, "all of them together"}}) {
      mistake.ways.push_back(
          {fmt::format(
               "Of {0} {1}s side by side each has the sum of {2}: where a block has several "
               "{1}s at once, each needs slots of its own for its sums, or each shuffle their "
               "width.",
               together, words.row, name),
           [together, whose = whose](verdict::Dtype, const Field& terms) -> std::optional<Field> {
             if (whose == Whose::last && together > kUsual && terms.rows < together) {
               return std::nullopt;  // 0 for all of them comes of much else
             }
             const Field sums = row_sums(terms);
             return verdict::field_of(terms.rows, 1, [&](auto row, auto) {
               const std::int64_t first = row / together * together;
               const std::int64_t end = first + together;
               double sum = whose == Whose::first ? sums(first, 0) : 0.0;
               for (std::int64_t r = first; r < std::min(end, terms.rows); ++r) {
                 const bool counts = whose == Whose::all || (whose == Whose::last && r == end - 1);
                 sum += counts ? sums(r, 0) : 0.0;
               }
               return sum;
             });
           }});
    }
  }
  return {mistake};
}

}  // namespace onepass::common

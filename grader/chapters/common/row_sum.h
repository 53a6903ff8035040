// The sum of a row, the step that all of chapters 1, 2 and 4 share, and the ways in which a block
// gets it wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chapters/common/lost_columns.h"
#include "chapters/common/mistakes.h"
#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::common {

/// From terms [rows, cols] of a tensor of `dtype` to their sums, [rows, 1], or [rows, cols] where
/// every column's thread holds one of its own. Nothing where the mistake makes no difference.
using RowSum =
    std::function<std::optional<verdict::Field>(verdict::Dtype dtype, const verdict::Field& terms)>;

std::optional<verdict::Field> right_sum(verdict::Dtype dtype, const verdict::Field& terms);

/// The sum of some of the columns; nothing where it is that of none.
RowSum sum_of(const Counted& counted);

/// Of columns that are left out, and of threads past the end of the row that count all the same.
Table<RowSum> wrong_shares(const RowWords& words = {});

/// Where the total does not reach every thread, or not in time. A thread has single columns, or
/// packs of 16 bytes.
Table<RowSum> wrong_totals();

/// Means of the threads' shares, or of the warps', put together as if these had equally many
/// columns each: times the number of columns. Nothing where they have.
Table<RowSum> means_of_unequal_shares(const RowWords& words = {});

/// The thread of a block that has column 0, 1, ... of a row: single columns, or packs of 16 bytes.
/// Empty where packs do not fit the row.
std::vector<std::size_t> threads_of_columns(verdict::Dtype dtype, std::int64_t cols,
                                            std::int64_t threads, bool packs);

/// The shares of a block's threads, or the sums of its warps, in the order of the threads. [rows,
/// threads] or [rows, warps]
RowSum shares_of(std::int64_t threads, bool warps, bool packs);

/// Added up in the tensor's own 16-bit type, in the usual orders; nothing for fp32.
std::vector<RowSum> sums_in_sixteen_bits();

/// What a row's sum is divided by instead of its number of columns. stride: elements from one row
/// to the next.
struct WrongCount {
  std::string what;
  std::function<double(double cols, double stride)> of;
};
std::vector<WrongCount> wrong_counts();

/// Threads of a block, so many, that have no column of the row in its last round.
double surplus(std::int64_t threads, std::int64_t cols);

}  // namespace onepass::common

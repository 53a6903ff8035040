// A block that has several rows, one after the other, and what goes wrong from one to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "chapters/common/mistakes.h"
#include "chapters/common/row_sum.h"

namespace onepass::common {

/// For each row the one that the same block had before it, -1 for the block's first.
using RowsBefore = std::vector<std::int64_t>;

/// The ways to share rows among blocks in which only each block's first row is right, or only its
/// last one; nothing where the wrong rows are others.
using RowWalk = std::function<std::optional<RowsBefore>(const verdict::WrongRows& wrong)>;
std::vector<RowWalk> walks_right_at_first();
std::vector<RowWalk> walks_right_at_last();

/// With so many blocks: every so many rows, or side by side. Nothing where each has one row.
std::optional<RowsBefore> rows_of_blocks(std::int64_t blocks, std::int64_t rows, bool side_by_side);

/// For each row the first of its block; the one after it, or itself if it is the last;
/// the one before it, or itself if it is the first.
std::vector<std::int64_t> first_rows(const RowsBefore& before);
std::vector<std::int64_t> next_rows(const RowsBefore& before);
std::vector<std::int64_t> previous_rows(const RowsBefore& before);

/// The field with row whose[r] in the place of row r; nothing if it has another number of rows, as
/// sums down the columns have.
std::optional<Field> taken(const Field& field, const std::vector<std::int64_t>& whose);

/// Sums to which each row adds what the rows before it have left in them.
Table<RowSum> carried_sums(const RowWords& words = {});

/// Sums of rows that a block has at once, side by side, which are one and the same for all of them.
Table<RowSum> shared_sums(const RowWords& words = {});

}  // namespace onepass::common

// Ways to leave terms out of a sum: columns out of a row's, rows out of a column's. Reductions go
// wrong by losing terms, and which ones are lost tells why: the chapters' mistakes try each of
// these on the numbers that came back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chapters/common/mistakes.h"

namespace onepass::common {

/// Is this column part of the sum of a row of `cols` columns?
using Counted = std::function<bool(std::int64_t col, std::int64_t cols)>;

/// What sentences call them.
struct RowWords {
  std::string row = "row";
  std::string column = "column";
};

/// A way that depends on a number, such as that of the threads of a block, which the grader cannot
/// know: every usual one is tried. The sentence may name it, {n}, and {row} and {column}.
struct Loss {
  const char* mistake;  // id
  std::vector<std::int64_t> numbers;
  const char* sentence;
  bool (*counted)(std::int64_t col, std::int64_t cols, std::int64_t n);
  verdict::Noise noise = {};
  bool everywhere = false;  // see verdict::Oracle
  /// Can it be so with those launches? There are none where the device does not tell.
  bool (*fits)(const std::vector<verdict::LaunchSize>& launches, std::int64_t cols,
               std::int64_t n) = nullptr;
};
Table<Counted> ways_to_lose(const std::vector<Loss>& losses, const RowWords& words = {});

/// Where some elements of each vector were not fetched, or not added up.
Table<Counted> parts_of_vectors(const RowWords& words = {});

/// Of a sum over columns by the threads of a block.
Table<Counted> lost_columns(const RowWords& words = {});

}  // namespace onepass::common

// Ways to leave columns out of a row's sum. Reductions go wrong by losing terms, and which ones are
// lost tells why: the chapters' mistakes try each of these on the numbers that came back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "chapters/common/mistakes.h"

namespace onepass::common {

/// Is this column part of the sum of a row of `cols` columns?
using Counted = std::function<bool(std::int64_t col, std::int64_t cols)>;

/// What sentences call them.
struct RowWords {
  std::string row = "row";
  std::string column = "column";
};

Table<Counted> lost_columns(const RowWords& words = {});

}  // namespace onepass::common

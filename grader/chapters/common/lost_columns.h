// Ways to leave columns out of a row's sum. Reductions go wrong by losing terms, and which ones are
// lost tells why: the chapters' mistakes try each of these on the numbers that came back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace onepass::common {

struct LostColumns {
  std::string mistake;   // id of the mistake
  std::string sentence;  // what to tell the student
  /// Is this column part of the sum of a row of `cols` columns?
  std::function<bool(std::int64_t col, std::int64_t cols)> counted;
};

/// All of them, those that are commoner first.
std::vector<LostColumns> lost_columns();

}  // namespace onepass::common

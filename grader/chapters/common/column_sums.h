// Ways to go wrong in a sum down the columns, over the rows of a tensor: rows that are lost,
// partial sums that are rounded, memory that was not cleared. The chapters' mistakes try each of
// these on the numbers that came back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::common {

struct WrongColumnSum {
  std::string mistake;   // id
  std::string sentence;  // what to tell the student
  /// What the sums [1, cols] come to, of terms [rows, cols], for an output of that dtype; nothing
  /// where the mistake makes no difference.
  std::function<std::optional<verdict::Field>(verdict::Dtype dtype, const verdict::Field& terms)>
      sums;
  double slack;  // how many bounds the result may be away from `sums`
};

/// All of them, those that are commoner first.
std::vector<WrongColumnSum> wrong_column_sums();

}  // namespace onepass::common

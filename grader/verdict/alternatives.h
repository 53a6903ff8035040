// What a sentence says when its number stays open: kernels that count whole groups of 8 columns,
// and of 32, may come to the same results in every shape that was tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace onepass::verdict {

/// "groups of 8 are", "groups of 32 are" -> "groups of 8 or 32 are". Nothing if the sentences
/// differ in more than whole numbers that stand as words.
std::optional<std::string> with_all_numbers(const std::vector<std::string>& sentences);

}  // namespace onepass::verdict

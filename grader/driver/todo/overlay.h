// Lays the words of a file over those of the skeleton that it was made from.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "driver/todo/words.h"

namespace onepass::driver {

/// `before[i]`: how many words of the skeleton come before word i of the file, that word itself not
/// counted. `matched[i]`: is it the next of them?
struct Overlay {
  std::vector<std::size_t> before;
  std::vector<bool> matched;
};

/// The cheapest way to get from the skeleton to the file by adding words, and leaving out comments.
/// `places`: before which words of the skeleton code is expected, in order. Nothing if a word of
/// the skeleton's code is not in the file.
std::optional<Overlay> overlay(const std::vector<Word>& skeleton,
                               const std::vector<std::size_t>& places,
                               const std::vector<Word>& file);

}  // namespace onepass::driver

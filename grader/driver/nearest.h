// The name that a word is a slip of.
#pragma once

#include <string>
#include <vector>

namespace onepass::driver {

/// The one of `known` that takes the fewest letters to change, add or drop, of small letters and
/// capitals alike; of several as near, the last. Empty if none is near.
std::string nearest(const std::vector<std::string>& known, const std::string& word);

/// ": did you mean known?", or else ": <otherwise>.", the end of a sentence about `word`.
std::string did_you_mean(const std::vector<std::string>& known, const std::string& word,
                         const std::string& otherwise);

}  // namespace onepass::driver

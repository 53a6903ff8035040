// A solution carries marks around what its TODOs leave out:
//
//     // [solution 2]
//     ...
//     // [end]
//
// The skeleton, the exercise that a student gets, is what remains when these parts go.
#pragma once

#include <string>

namespace onepass::driver {

/// `solution` without its marked parts and without the marks. `file` is its name in messages.
/// Throws BadInput for a mark without its other half.
std::string skeleton_of(const std::string& solution, const std::string& file);

}  // namespace onepass::driver

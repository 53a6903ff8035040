// A solution carries marks around what its TODOs leave out:
//
//     // [solution 2]
//     ...
//     // [end]
//
// The skeleton, the exercise that a student gets, is what remains when these parts go.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace onepass::driver {

/// A marked part of a solution.
struct MarkedPart {
  int todo;
  std::size_t place;  // where it is missing in the skeleton: the offset of a line's beginning
  std::string code;   // whole lines
};

struct Skeleton {
  std::string text;
  std::vector<MarkedPart> parts;  // in the order of their places

  /// The solution again, but without its marks.
  std::string solution() const;
};

/// `solution` taken apart. `file` is its name in messages. Throws BadInput for a mark without its
/// other half.
Skeleton take_apart(const std::string& solution, const std::string& file);

/// The skeleton's text alone.
std::string skeleton_of(const std::string& solution, const std::string& file);

}  // namespace onepass::driver

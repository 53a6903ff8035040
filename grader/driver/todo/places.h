// Where the code of each TODO stands in a student's file.
//
// The file is laid over the skeleton, word by word: what stands in the skeleton has to be in the
// file too, in the same order, and what the file has besides is the student's. Layout does not
// count; comments may go, but help to find a place. What was written at the place of a TODO is that
// TODO's code; what was written elsewhere, such as a function above the kernel, belongs to none.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/skeleton.h"

namespace onepass::driver {

/// A part of a text.
struct Span {
  std::size_t begin;
  std::size_t end;
};

/// A place that the skeleton leaves to a TODO, in a student's file.
struct Place {
  int todo;
  std::string solution;  // the code that the solution has there
  Span yours;            // what the student has there; empty if there is nothing
  bool begun;            // is there any code in it?
};

struct Places {
  std::string file;
  std::vector<Place> places;
  std::set<int> elsewhere;  // the lines on which code of the student's begins that is no TODO's

  std::set<int> todos() const;
  bool is_begun(int todo) const;
  /// The TODO whose code has that line, counted from 1; nothing where none has.
  std::optional<int> todo_at(int line) const;
  /// The file with the solution's code for these TODOs in place of the student's. All lines that
  /// stay have the numbers they had.
  std::string with_solution(const std::set<int>& replaced) const;
};

/// Nothing where `file` does not keep the skeleton's shape: a given line was changed, or where one
/// TODO's code ends and the next one's begins cannot be told.
std::optional<Places> find_places(const Skeleton& skeleton, const std::string& file);

}  // namespace onepass::driver

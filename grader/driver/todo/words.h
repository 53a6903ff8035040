// Cuts source text into words, to compare two versions of a file whatever their layout: names,
// numbers, strings, single signs; and comments, each line of them a word, by which the place of a
// TODO is found.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace onepass::driver {

struct Word {
  std::size_t begin;  // in the text
  std::size_t end;
  /// Words are the same if their keys are. Of a comment: without blanks around it, and "TODO 2" for
  /// a line that begins so. Of code: with the number of brackets around it, so that a bracket is
  /// never taken for one of another pair.
  std::string key;
  bool comment;
  int depth;  // open brackets around it; a bracket stands outside its own pair
};

std::vector<Word> source_words(const std::string& text);

}  // namespace onepass::driver

#include "driver/todo/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/todo/overlay.h"
#include "driver/todo/words.h"

namespace onepass::driver {
namespace {

using Words = std::vector<Word>;

// How many of the words begin before `offset`.
std::size_t words_before(const Words& words, std::size_t offset) {
  return static_cast<std::size_t>(
      std::partition_point(words.begin(), words.end(),
                           [&](const Word& word) { return word.begin < offset; }) -
      words.begin());
}

// Counted from 1.
int line_at(const std::string& text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(),
                                         text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// Between two words of the skeleton, is there no word of code?
bool only_comments(const Words& words, std::size_t begin, std::size_t end) {
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(end - begin),
                     [](const Word& word) { return word.comment; });
}

// The words of a file that were added to the skeleton, given to its places.
class Finder {
 public:
  Finder(const Skeleton& skeleton, const std::string& file)
      : skeleton_(source_words(skeleton.text)), file_(source_words(file)), result_{file, {}, {}} {
    for (const MarkedPart& part : skeleton.parts) {
      starts_.push_back(words_before(skeleton_, part.place));
      result_.places.push_back({part.todo, part.code, {0, 0}, false});
    }
  }

  std::optional<Places> find() {
    const std::optional<Overlay> found = overlay(skeleton_, starts_, file_);
    if (!found) {
      return std::nullopt;
    }
    overlay_ = *found;
    for (std::size_t part = 0; part < starts_.size(); ++part) {
      const std::size_t end = end_of_what_is_before(starts_[part]);
      result_.places[part].yours = {end, end};
    }
    give_words();
    note_elsewhere();
    if (!are_told_apart() || !are_whole()) {
      return std::nullopt;
    }
    return result_;
  }

 private:
  // To which place does what stands before word `before` of the skeleton belong? To the next one
  // without code in between, for a TODO's comment may stand below its code; else to the last one.
  std::optional<std::size_t> place_at(std::size_t before) const {
    const auto next = std::lower_bound(starts_.begin(), starts_.end(), before);
    if (next != starts_.end() && only_comments(skeleton_, before, *next)) {
      return static_cast<std::size_t>(next - starts_.begin());
    }
    if (next != starts_.begin() && only_comments(skeleton_, *(next - 1), before)) {
      return static_cast<std::size_t>(next - 1 - starts_.begin());
    }
    return std::nullopt;
  }

  // What was added at a place is one piece, with what is left of the TODO's comment in it.
  void give_words() {
    for (std::size_t i = 0; i < file_.size(); ++i) {
      const auto part = overlay_.matched[i] ? std::nullopt : place_at(overlay_.before[i]);
      if (part) {
        Place& place = result_.places[*part];
        const bool first = place.yours.begin == place.yours.end;
        place.yours = {first ? file_[i].begin : place.yours.begin, file_[i].end};
        place.begun = place.begun || !file_[i].comment;
      }
    }
  }

  // Each piece of code that was added between two words of the skeleton, and is at no place.
  void note_elsewhere() {
    std::optional<std::size_t> piece;
    for (std::size_t i = 0; i < file_.size(); ++i) {
      const std::size_t before = overlay_.before[i];
      if (!overlay_.matched[i] && !file_[i].comment && !place_at(before) && piece != before) {
        piece = before;
        result_.elsewhere.insert(line_at(result_.file, file_[i].begin));
      }
    }
  }

  // Of two neighbours of different TODOs, with nothing but comments between, one of these must be
  // left, or nothing be there.
  bool are_told_apart() const {
    for (std::size_t part = 1; part < starts_.size(); ++part) {
      const Place& one = result_.places[part - 1];
      const Place& other = result_.places[part];
      if (one.todo != other.todo && (one.begun || other.begun) &&
          only_comments(skeleton_, starts_[part - 1], starts_[part]) &&
          !is_any_left(starts_[part - 1], starts_[part])) {
        return false;
      }
    }
    return true;
  }

  // Is one of these words of the skeleton in the file?
  bool is_any_left(std::size_t begin, std::size_t end) const {
    for (std::size_t i = 0; i < file_.size(); ++i) {
      if (overlay_.matched[i] && begin <= overlay_.before[i] && overlay_.before[i] < end) {
        return true;
      }
    }
    return false;
  }

  // Does each place's code close the brackets that it opens, and no other?
  bool are_whole() const {
    return std::all_of(result_.places.begin(), result_.places.end(),
                       [&](const Place& place) { return is_whole(place.yours); });
  }

  bool is_whole(const Span& span) const {
    int open = 0;
    for (std::size_t i = words_before(file_, span.begin); i < words_before(file_, span.end); ++i) {
      open += brackets(file_[i]);
      if (open < 0) {
        return false;
      }
    }
    return open == 0;
  }

  // 1 for a bracket that opens, -1 for one that closes.
  int brackets(const Word& word) const {
    const char sign = word.comment ? ' ' : result_.file[word.begin];
    return sign == '(' || sign == '[' || sign == '{'   ? 1
           : sign == ')' || sign == ']' || sign == '}' ? -1
                                                       : 0;
  }

  // Where in the file the words end that come before word `before` of the skeleton.
  std::size_t end_of_what_is_before(std::size_t before) const {
    std::size_t end = 0;
    for (std::size_t i = 0; i < file_.size() && overlay_.before[i] < before; ++i) {
      end = file_[i].end;
    }
    return end;
  }

  Words skeleton_, file_;
  std::vector<std::size_t> starts_;  // of each place, the word of the skeleton that comes next
  Overlay overlay_;
  Places result_;
};

}  // namespace

std::set<int> Places::todos() const {
  std::set<int> numbers;
  for (const Place& place : places) {
    numbers.insert(place.todo);
  }
  return numbers;
}

bool Places::is_begun(int todo) const {
  return std::any_of(places.begin(), places.end(),
                     [&](const Place& place) { return place.todo == todo && place.begun; });
}

std::optional<int> Places::todo_at(int line) const {
  for (const auto& [todo, solution, yours, begun] : places) {
    if (begun && line_at(file, yours.begin) <= line && line <= line_at(file, yours.end - 1)) {
      return todo;
    }
  }
  return std::nullopt;
}

std::string Places::with_solution(const std::set<int>& replaced) const {
  std::string text;
  std::size_t done = 0;
  for (const Place& place : places) {
    if (replaced.count(place.todo) == 0) {
      continue;
    }
    const auto [begin, end] = place.yours;
    text += file.substr(done, begin - done);
    text += fmt::format("\n{}#line {}\n", place.solution, line_at(file, end));
    done = end;
  }
  return text + file.substr(done);
}

std::optional<Places> find_places(const Skeleton& skeleton, const std::string& file) {
  return Finder(skeleton, file).find();
}

}  // namespace onepass::driver

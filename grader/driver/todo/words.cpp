#include "driver/todo/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace onepass::driver {
namespace {

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The end of the string or character that begins at `begin`, which does not reach beyond its line.
std::size_t end_of_quoted(const std::string& text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && text[end] != text[begin] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

// A number goes on through its point and its ticks: 1'000.5f.
std::size_t end_of_name(const std::string& text, std::size_t begin) {
  const bool number = std::isdigit(static_cast<unsigned char>(text[begin]));
  std::size_t end = begin + 1;
  while (end < text.size() &&
         (is_letter(text[end]) || (number && (text[end] == '.' || text[end] == '\'')))) {
    ++end;
  }
  return end;
}

std::size_t end_of_comment(const std::string& text, std::size_t begin) {
  const bool line = text[begin + 1] == '/';
  const std::size_t end = text.find(line ? "\n" : "*/", begin + 2);
  return end == std::string::npos ? text.size() : end + (line ? 0 : 2);
}

std::string key_of_comment(const std::string& comment) {
  constexpr const char* kAround = "/* \t\r\n";
  const std::size_t begin = comment.find_first_not_of(kAround);
  if (begin == std::string::npos) {
    return "";
  }
  const std::string words = comment.substr(begin, comment.find_last_not_of(kAround) + 1 - begin);
  const std::string todo = "TODO ";
  if (words.compare(0, todo.size(), todo) != 0) {
    return words;
  }
  return words.substr(0, words.find_first_not_of("0123456789", todo.size()));
}

}  // namespace

std::vector<Word> source_words(const std::string& text) {
  std::vector<Word> words;
  int depth = 0;
  for (std::size_t begin = 0; begin < text.size(); begin = words.back().end) {
    while (begin < text.size() && std::isspace(static_cast<unsigned char>(text[begin]))) {
      ++begin;
    }
    if (begin == text.size()) {
      break;
    }
    const char first = text[begin];
    const char second = begin + 1 < text.size() ? text[begin + 1] : '\0';
    if (first == '/' && (second == '/' || second == '*')) {
      const std::size_t end = end_of_comment(text, begin);
      words.push_back({begin, end, key_of_comment(text.substr(begin, end - begin)), true, depth});
      continue;
    }
    const std::size_t end = first == '"' || first == '\'' ? end_of_quoted(text, begin)
                            : is_letter(first)            ? end_of_name(text, begin)
                                                          : begin + 1;
    depth -= first == ')' || first == ']' || first == '}' ? 1 : 0;
    words.push_back(
        {begin, end, fmt::format("{} {}", depth, text.substr(begin, end - begin)), false, depth});
    depth += first == '(' || first == '[' || first == '{' ? 1 : 0;
  }
  return words;
}

}  // namespace onepass::driver

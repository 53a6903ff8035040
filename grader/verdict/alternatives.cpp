#include "verdict/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace onepass::verdict {
namespace {

constexpr std::size_t kMostNamed = 4;

std::vector<std::string> words_of(const std::string& sentence) {
  std::istringstream text(sentence);
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word, ' ');) {
    words.push_back(word);
  }
  return words;
}

/// What stands behind the digits that a word begins with.
std::string mark_of(const std::string& word) {
  const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  return {std::find_if_not(word.begin(), word.end(), is_digit), word.end()};
}

/// The word's digits, if it is a number; there may be a mark behind them.
std::string number_of(const std::string& word) {
  const std::string mark = mark_of(word);
  const bool is_number = mark.empty() || mark == "," || mark == "." || mark == ":";
  return is_number ? word.substr(0, word.size() - mark.size()) : "";
}

/// "8, 16 or 32"; of many two and the largest: "8, 16, ... or 1024".
std::string joined(std::vector<std::string> numbers) {
  std::sort(numbers.begin(), numbers.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  if (numbers.size() > kMostNamed) {
    return fmt::format("{}, {}, ... or {}", numbers[0], numbers[1], numbers.back());
  }
  std::string text = numbers.front();
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    text += (i + 1 == numbers.size() ? " or " : ", ") + numbers[i];
  }
  return text;
}

}  // namespace

std::optional<std::string> with_all_numbers(const std::vector<std::string>& sentences) {
  std::vector<std::vector<std::string>> all;
  for (const std::string& sentence : sentences) {
    all.push_back(words_of(sentence));
    if (all.back().size() != all.front().size()) {
      return std::nullopt;
    }
  }
  std::string result;
  for (std::size_t i = 0; i < all.front().size(); ++i) {
    const std::string& first = all.front()[i];
    std::vector<std::string> numbers;
    for (const std::vector<std::string>& words : all) {
      const std::string number = number_of(words[i]);
      const bool is_other_number =
          !number.empty() && !number_of(first).empty() && mark_of(words[i]) == mark_of(first);
      if (words[i] != first && !is_other_number) {
        return std::nullopt;
      }
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
        numbers.push_back(number);
      }
    }
    const std::string text = numbers.size() == 1 ? first : joined(numbers) + mark_of(first);
    result += (i == 0 ? "" : " ") + text;
  }
  return result;
}

}  // namespace onepass::verdict

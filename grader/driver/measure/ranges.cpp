#include "driver/measure/ranges.h"

#include <fmt/format.h>

#include <limits>
#include <regex>
#include <sstream>

#include "driver/bad_input.h"

namespace onepass::driver {
namespace {

constexpr std::size_t kMostNumbers = 1000;
constexpr std::int64_t kLargest = std::numeric_limits<int>::max();

struct Range {
  std::int64_t start;
  std::int64_t end;
  std::int64_t step;  // from each number to the next, or
  bool multiplies;    // what each is multiplied by
};

[[noreturn]] void refuse(const std::string& option, const std::string& text) {
  throw BadInput(
      fmt::format("{} {} cannot be read: give numbers (256,512), a range start:end:step "
                  "(1024:4096:1024), or doublings start:end:x2 (256:8192:x2).",
                  option, text.empty() ? "\"\"" : text));
}

Range parse(const std::string& word, const std::string& option, const std::string& text) {
  static const std::regex kRange("([0-9]{1,10})(?::([0-9]{1,10}):(x?)([0-9]{1,10}))?");
  std::smatch parts;
  if (!std::regex_match(word, parts, kRange)) {
    refuse(option, text);
  }
  const std::int64_t start = std::stoll(parts[1]);
  if (!parts[2].matched) {
    return {start, start, 1, false};
  }
  const Range range{start, std::stoll(parts[2]), std::stoll(parts[4]), parts[3].length() > 0};
  if (range.step < (range.multiplies ? 2 : 1) || range.end < range.start) {
    refuse(option, text);
  }
  return range;
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text + ",");  // so that a comma at the end is told from none
  for (std::string word; std::getline(stream, word, ',');) {
    words.push_back(word);
  }
  return words;
}

std::vector<std::int64_t> numbers_of(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : words_of(text)) {
    const Range range = parse(word, option, text);
    if (range.start < 1 || range.end > kLargest) {
      throw BadInput(fmt::format("{} takes numbers from 1 to {}.", option, kLargest));
    }
    for (std::int64_t number = range.start; number <= range.end;
         number = range.multiplies ? number * range.step : number + range.step) {
      if (numbers.size() == kMostNumbers) {
        throw BadInput(fmt::format("{} {} is more than {} numbers: take a larger step.", option,
                                   text, kMostNumbers));
      }
      numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace onepass::driver

#include "driver/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace onepass::driver {
namespace {

// How many letters to change, add or drop to make `b` of `a`.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string in_small_letters(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

}  // namespace

std::string nearest(const std::vector<std::string>& known, const std::string& word) {
  constexpr std::size_t kLongest = 100;  // a slip of the keyboard is about as long as the name
  if (word.empty() || word.size() > kLongest) {
    return "";
  }
  std::string best;
  std::size_t least = std::min(word.size() - 1, (word.size() + 2) / 3);
  for (const std::string& one : known) {
    const std::size_t far = distance(in_small_letters(word), one);
    if (far <= least) {
      least = far;
      best = one;
    }
  }
  return best;
}

std::string did_you_mean(const std::vector<std::string>& known, const std::string& word,
                         const std::string& otherwise) {
  const std::string slip_of = nearest(known, word);
  return slip_of.empty() ? fmt::format(": {}.", otherwise)
                         : fmt::format(": did you mean {}?", slip_of);
}

}  // namespace onepass::driver

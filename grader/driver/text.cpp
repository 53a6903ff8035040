#include "driver/text.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace onepass::driver {

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return "";
  }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || std::strchr("/._-+=:,@%", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string first_line(const std::string& lines) {
  return lines.substr(0, lines.find('\n'));
}

}  // namespace onepass::driver

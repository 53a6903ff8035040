#include "driver/class/shard.h"

#include <fmt/format.h>

#include <regex>

#include "driver/bad_input.h"
#include "driver/text.h"

namespace onepass::driver::course {

Shard shard_named(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  static const std::regex form("([0-9]{1,6})/([0-9]{1,6})");
  std::smatch match;
  if (std::regex_match(text, match, form)) {
    const Shard shard = {std::stoul(match[1]), std::stoul(match[2])};
    if (shard.number >= 1 && shard.number <= shard.of) {
      return shard;
    }
  }
  throw BadInput(
      fmt::format("There is no part {}: of 16 they are 1/16 to 16/16.", shell_word(text)));
}

}  // namespace onepass::driver::course

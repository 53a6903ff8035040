#include "driver/paint.h"

#include <fmt/format.h>

#include <map>

#include "driver/text.h"

namespace onepass::driver {

std::string painted(const std::string& text, const char* code, Style style) {
  return style.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

const char* color_of(const std::string& status) {
  static const std::map<std::string, const char*> kColors = {
      {"passed", kGreen}, {"not started", kDim}, {"ungraded", kYellow}, {"interrupted", kYellow}};
  const auto found = kColors.find(status);
  return found == kColors.end() ? kRed : found->second;
}

void write_indented(Out out, const std::string& lines) {
  for (const std::string& line : lines_of(lines)) {
    fmt::format_to(out, "    {}\n", line);
  }
}

std::string counted(int count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace onepass::driver

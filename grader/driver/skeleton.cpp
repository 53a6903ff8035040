#include "driver/skeleton.h"

#include <fmt/format.h>

#include <regex>

#include "driver/bad_input.h"
#include "driver/text.h"

namespace onepass::driver {

std::string skeleton_of(const std::string& solution, const std::string& file) {
  static const std::regex begin_mark(R"(^\s*// \[solution \d+\]\s*$)");
  static const std::regex end_mark(R"(^\s*// \[end\]\s*$)");
  std::string skeleton;
  int opened = 0;  // the line of the mark that is open
  int number = 0;
  for (const std::string& line : lines_of(solution)) {
    ++number;
    const bool begins = std::regex_match(line, begin_mark);
    const bool ends = std::regex_match(line, end_mark);
    if ((begins && opened != 0) || (ends && opened == 0)) {
      throw BadInput(
          fmt::format("{}:{}: this mark has no other half: [solution N] and [end] come in "
                      "pairs.",
                      file, number));
    }
    if (begins) {
      opened = number;
    } else if (ends) {
      opened = 0;
    } else if (opened == 0) {
      skeleton += line + "\n";
    }
  }
  if (opened != 0) {
    throw BadInput(fmt::format("{}:{}: no [end] follows this mark.", file, opened));
  }
  return skeleton;
}

}  // namespace onepass::driver

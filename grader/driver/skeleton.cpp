#include "driver/skeleton.h"

#include <fmt/format.h>

#include <regex>

#include "driver/bad_input.h"
#include "driver/text.h"

namespace onepass::driver {

Skeleton take_apart(const std::string& solution, const std::string& file) {
  static const std::regex begin_mark(R"(^\s*// \[solution (\d+)\]\s*$)");
  static const std::regex end_mark(R"(^\s*// \[end\]\s*$)");
  Skeleton skeleton;
  int opened = 0;  // the line of the mark that is open
  int number = 0;
  for (const std::string& line : lines_of(solution)) {
    ++number;
    std::smatch mark;
    const bool begins = std::regex_match(line, mark, begin_mark);
    const bool ends = std::regex_match(line, end_mark);
    if ((begins && opened != 0) || (ends && opened == 0)) {
      throw BadInput(
          fmt::format("{}:{}: this mark has no other half: [solution N] and [end] come in "
                      "pairs.",
                      file, number));
    }
    if (begins) {
      opened = number;
      skeleton.parts.push_back({std::stoi(mark[1]), skeleton.text.size(), ""});
    } else if (ends) {
      opened = 0;
    } else {
      (opened == 0 ? skeleton.text : skeleton.parts.back().code) += line + "\n";
    }
  }
  if (opened != 0) {
    throw BadInput(fmt::format("{}:{}: no [end] follows this mark.", file, opened));
  }
  return skeleton;
}

std::string Skeleton::solution() const {
  std::string whole;
  std::size_t done = 0;
  for (const MarkedPart& part : parts) {
    whole += text.substr(done, part.place - done) + part.code;
    done = part.place;
  }
  return whole + text.substr(done);
}

std::string skeleton_of(const std::string& solution, const std::string& file) {
  return take_apart(solution, file).text;
}

}  // namespace onepass::driver

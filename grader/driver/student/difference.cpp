#include "driver/student/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/paint.h"
#include "driver/printable.h"
#include "driver/skeleton.h"
#include "driver/student/overview.h"
#include "driver/student/page.h"
#include "driver/student/standing.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr std::size_t kLinesAround = 3;  // lines that both have, shown beside those that differ

struct Line {
  char mark;  // '-' of the one, '+' of the other, ' ' of both
  std::string text;
  std::size_t number;  // in the one, counted from 1
};

std::vector<std::string> trimmed_lines(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
  }
  return lines;
}

// All lines of both, those that they share as one: as many as can be.
std::vector<Line> laid_together(const std::vector<std::string>& one,
                                const std::vector<std::string>& other) {
  // shared[i][j]: how many the rest of one from i on and of the other from j on share
  std::vector<std::vector<int>> shared(one.size() + 1, std::vector<int>(other.size() + 1));
  for (std::size_t i = one.size(); i-- > 0;) {
    for (std::size_t j = other.size(); j-- > 0;) {
      shared[i][j] = one[i] == other[j] ? 1 + shared[i + 1][j + 1]
                                        : std::max(shared[i + 1][j], shared[i][j + 1]);
    }
  }
  std::vector<Line> lines;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < one.size() || j < other.size()) {
    if (i < one.size() && j < other.size() && one[i] == other[j]) {
      lines.push_back({' ', one[i], i + 1});
      ++i, ++j;
    } else if (j == other.size() || (i < one.size() && shared[i + 1][j] >= shared[i][j + 1])) {
      lines.push_back({'-', one[i], i + 1});
      ++i;
    } else {
      lines.push_back({'+', other[j], i + 1});
      ++j;
    }
  }
  return lines;
}

}  // namespace

std::string differing_lines(const std::string& one, const std::string& other, Style style) {
  const std::vector<Line> lines = laid_together(trimmed_lines(one), trimmed_lines(other));
  std::string text;
  std::size_t shown = 0;  // all before it are shown, or left out
  const auto is_near_a_difference = [&](std::size_t at) {
    const std::size_t first = at < kLinesAround ? 0 : at - kLinesAround;
    const std::size_t end = std::min(lines.size(), at + kLinesAround + 1);
    for (std::size_t i = first; i < end; ++i) {
      if (lines[i].mark != ' ') {
        return true;
      }
    }
    return false;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (!is_near_a_difference(i)) {
      continue;
    }
    if (i != shown || i == 0) {
      text += painted(fmt::format("line {}:\n", line.number), kDim, style);
    }
    const std::string printed = fmt::format("{} {}", line.mark, printable_line(line.text));
    text +=
        (line.mark == ' ' ? printed : painted(printed, line.mark == '-' ? kRed : kGreen, style)) +
        "\n";
    shown = i + 1;
  }
  return text;
}

std::string difference(const Config& config, const std::string& exercise, Style style) {
  const std::vector<Standing> all = standings(config);
  const Standing& standing = standing_of(config, all, one_named(config, exercise, "diff"));
  const std::string program = program_of(config);
  if (standing.note.passed_text.empty()) {
    throw BadInput(fmt::format(
        "{} is shown beside the solution once it has passed: {} grade {}, or {} hint {}.",
        standing.info.id, program, standing.number, program, standing.number));
  }
  if (standing.state == State::missing) {
    throw BadInput(fmt::format("{} is missing: {} reset {} brings back the skeleton.",
                               standing.file, program, standing.number));
  }
  const auto file = config.solution_of(*standing.named.chapter, *standing.named.exercise);
  const std::string lines =
      differing_lines(standing.text, take_apart(read_file(file), file.string()).solution(), style);
  const std::string why = section_named(
      config, fmt::format("docs/solutions.md, \"{} {}\"", standing.number, standing.info.id));
  return fmt::format(
      "{}{}\nWhy the solution does it so:\n\n{}",
      lines.empty() ? fmt::format("{} is the solution, line by line.\n", standing.file)
                    : fmt::format("{} in {}, {} in the solution\n\n", painted("-", kRed, style),
                                  standing.file, painted("+", kGreen, style)),
      lines, as_text(why, reading_width()));
}

}  // namespace onepass::driver

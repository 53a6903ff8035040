#include "driver/student/page.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// How many characters a terminal shows of it.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Without what only a browser makes something of: links keep their words.
std::string without_marks(std::string line) {
  static const std::regex link(R"(!?\[([^\]]*)\]\([^)]*\))");
  static const std::regex strong(R"(\*\*([^*]+)\*\*)");
  static const std::regex emphasis(R"(\*(\w[^*]*\w)\*)");
  for (const std::regex* mark : {&link, &strong, &emphasis}) {
    line = std::regex_replace(line, *mark, "$1");
  }
  return line;
}

// A paragraph that grows line by line.
class Paragraph {
 public:
  explicit Paragraph(std::size_t width) : width_(width) {}

  void add(const std::string& line) { text_ += line + " "; }

  // Its lines; from now on it is empty.
  std::string take() {
    std::istringstream words(without_marks(text_));
    text_.clear();
    std::string lines;
    std::string line;
    for (std::string word; words >> word;) {
      if (!line.empty() && shown_width(line) + 1 + shown_width(word) > width_) {
        lines += line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    return line.empty() ? "" : lines + line + "\n";
  }

 private:
  std::size_t width_;
  std::string text_;
};

bool begins(const std::string& line, const char* start) {
  return line.rfind(start, 0) == 0;
}

}  // namespace

std::string section_named(const Config& config, const std::string& docs) {
  const std::size_t quote = docs.find(", \"");
  const std::string file = docs.substr(0, quote);
  const std::string heading =
      quote == std::string::npos ? "" : docs.substr(quote + 3, docs.size() - quote - 4);
  std::string section;
  bool inside = false;
  for (const std::string& line : lines_of(read_file(config.source / file))) {
    if (begins(line, "## ")) {
      inside = line == "## " + heading;
    } else if (inside) {
      section += line + "\n";
    }
  }
  if (section.empty()) {
    throw GraderFault(fmt::format("{} has no section \"{}\".", file, heading));
  }
  return section;
}

std::string as_text(const std::string& markdown, std::size_t width) {
  std::string text;
  Paragraph paragraph(width);
  bool in_code = false;
  for (const std::string& line : lines_of(markdown)) {
    if (begins(line, "```")) {
      text += paragraph.take();
      in_code = !in_code;
    } else if (in_code) {
      text += (line.empty() ? "" : "    " + line) + "\n";
    } else if (line.empty()) {
      text += paragraph.take() + "\n";
    } else if (!begins(line, "<") && !begins(line, "![")) {
      const bool stands_alone = begins(line, "- ") || begins(line, "|");
      text += stands_alone ? paragraph.take() : "";
      paragraph.add(line);
    }
  }
  text += paragraph.take();
  text = std::regex_replace(text, std::regex("\n{3,}"), "\n\n");
  const std::size_t first = text.find_first_not_of('\n');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of('\n') + 2 - first);
}

std::size_t terminal_width() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t reading_width() {
  constexpr std::size_t kLeast = 40, kMost = 100;
  const std::size_t width = terminal_width();
  return width > 0 ? std::clamp(width, kLeast, kMost) : kMost;
}

}  // namespace onepass::driver

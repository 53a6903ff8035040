#include "driver/student/screen.h"

#include <algorithm>
#include <cstdio>

#include "driver/student/page.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr const char* kClearScreen = "\x1b[H\x1b[2J";

// Where the colour ends that begins at `begin`: behind its first letter.
std::size_t end_of_color(const std::string& line, std::size_t begin) {
  const std::size_t letter = line.find_first_of("mK", begin);
  return letter == std::string::npos ? line.size() : letter + 1;
}

std::string wrapped_line(const std::string& line, std::size_t width) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::string indent(begin + 2 < width / 2 ? begin + 2 : 0, ' ');
  std::string result = line.substr(0, begin);
  std::size_t shown = begin;  // of the line that is under way
  std::size_t blank = 0;      // the last one of it, in `result`; 0: none
  std::size_t at_blank = 0;   // what was shown then
  for (std::size_t i = begin; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      const std::size_t end = end_of_color(line, i);
      result += line.substr(i, end - i);
      i = end - 1;
      continue;
    }
    result += line[i];
    if ((line[i] & 0xc0) == 0x80) {
      continue;  // goes on with a character
    }
    ++shown;
    if (line[i] == ' ') {
      blank = result.size() - 1;
      at_blank = shown;
    }
    if (shown > width && blank > 0) {
      result.replace(blank, 1, "\n" + indent);
      shown += indent.size() - at_blank;
      blank = 0;
    }
  }
  return result;
}

void print_at_once(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t width) {
  if (width == 0) {
    return text;
  }
  std::string result;
  for (const std::string& line : lines_of(text)) {
    result += wrapped_line(line, width) + "\n";
  }
  return result;
}

void Screen::add_to_verdict(const std::string& text) {
  if (is_new_) {
    verdict_.clear();
    aside_.clear();
    is_new_ = false;
  }
  verdict_ += text;
  draw_or_print(text);
}

void Screen::set_verdict(const std::string& text) {
  verdict_ = text;
  aside_.clear();
  draw();
}

void Screen::set_aside(const std::string& text) {
  aside_ = text;
  draw();
}

void Screen::set_foot(const std::string& text) {
  foot_ = text;
  draw_or_print(text + "\n");
}

void Screen::draw() const {
  if (is_terminal_) {
    const std::string all = verdict_ + (aside_.empty() ? "" : "\n" + aside_) + "\n" + foot_ + "\n";
    print_at_once(kClearScreen + wrapped(all, terminal_width()));
  }
}

void Screen::draw_or_print(const std::string& text) const {
  if (is_terminal_) {
    draw();
  } else {
    print_at_once(text);
  }
}

}  // namespace onepass::driver

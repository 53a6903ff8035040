#include "driver/student/screen.h"

#include <cstdio>

namespace onepass::driver {
namespace {

constexpr const char* kClearScreen = "\x1b[H\x1b[2J";

void print_at_once(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

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
    print_at_once(kClearScreen + verdict_ + (aside_.empty() ? "" : "\n" + aside_) + "\n" + foot_ +
                  "\n");
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

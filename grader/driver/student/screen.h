// What `onepass watch` shows: a verdict, below it what a key asked for, and what can be done.
#pragma once

#include <cstddef>
#include <string>

namespace onepass::driver {

/// With lines of `width` characters at most, as a terminal shows them, colours or not: broken
/// between words, and what goes on stands further to the right. 0: as it is.
std::string wrapped(const std::string& text, std::size_t width);

/// On a terminal it is drawn anew with each change; elsewhere what comes is printed, once.
class Screen {
 public:
  explicit Screen(bool is_terminal) : is_terminal_(is_terminal) {}

  /// The next words of a verdict take the place of the last one; until they come that stays.
  void begin_verdict() { is_new_ = true; }
  void add_to_verdict(const std::string& text);
  void set_verdict(const std::string& text);

  void set_aside(const std::string& text);

  /// The last lines, such as "Grading rmsnorm/forward ...".
  void set_foot(const std::string& text);

  void draw() const;

 private:
  void draw_or_print(const std::string& text) const;

  const bool is_terminal_;
  std::string verdict_, aside_, foot_;
  bool is_new_ = true;
};

}  // namespace onepass::driver

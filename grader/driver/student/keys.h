// Single keys from the terminal, without Enter.
#pragma once

#include <termios.h>

#include <optional>

namespace onepass::driver {

class Keys {
 public:
  /// From now on the terminal hands over each key at once and does not show it, if standard input
  /// is a terminal and this process has it. Ctrl-C and Ctrl-Z still mean what they do.
  Keys();
  /// The terminal is as it was.
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  /// Readable when a key was pressed; -1: there are none to come.
  int descriptor() const;

  /// The next key, if there is one. 'q' if the terminal is gone.
  std::optional<char> take();

  /// After Ctrl-Z: gives the terminal back and stops this process. True if it did, and goes on.
  bool stop_if_asked();

 private:
  void take_terminal();
  void give_back() const;

  bool on_ = false;
  termios before_ = {};
};

}  // namespace onepass::driver

// One line on a terminal that says what is going on, and is gone when the report comes.
#pragma once

#include <mutex>
#include <string>

namespace onepass::driver {

class Progress {
 public:
  /// Writes to stderr; nothing where that is no terminal, or it is not `shown`.
  explicit Progress(bool shown = true);
  ~Progress();  // takes the line away
  /// From any thread.
  void show(const std::string& text);

 private:
  const bool on_terminal_;
  std::mutex mutex_;
};

}  // namespace onepass::driver

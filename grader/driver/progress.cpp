#include "driver/progress.h"

#include <unistd.h>

#include <cstdio>

namespace onepass::driver {

Progress::Progress(bool shown) : on_terminal_(shown && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  show("");
}

void Progress::show(const std::string& text) {
  if (on_terminal_) {
    const std::lock_guard lock(mutex_);
    std::fprintf(stderr, "\r\x1b[K%.78s", text.c_str());
    std::fflush(stderr);
  }
}

}  // namespace onepass::driver

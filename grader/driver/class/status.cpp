#include "driver/class/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace onepass::driver::course {

std::string duration_text(double seconds) {
  const long minutes = std::lround(seconds / 60);
  return minutes < 1    ? "less than a minute"
         : minutes < 60 ? fmt::format("about {} min", minutes)
                        : fmt::format("about {} h {} min", minutes / 60, minutes % 60);
}

Status::Status(std::size_t students, std::size_t files, std::size_t students_done)
    : students_(students), files_(files), students_done_(students_done) {}

// Files differ much in the time they take, students less: the first few tell little.
std::string Status::line() const {
  std::string text = fmt::format("{} of {} students, {} of {} files graded", students_done_,
                                 students_, files_done_, files_);
  if (files_done_ >= 3) {
    const double passed = std::chrono::duration<double>(Clock::now() - begin_).count();
    const auto left = static_cast<double>(files_ - files_done_);
    text +=
        fmt::format(", {} left", duration_text(passed * left / static_cast<double>(files_done_)));
  }
  return text;
}

void Status::tell() {
  const std::string text = line();
  progress_.show(text);
  const auto now = Clock::now();
  if (isatty(STDERR_FILENO) != 1 && now - told_ >= std::chrono::minutes(1)) {
    told_ = now;
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

void Status::file_done() {
  const std::lock_guard lock(mutex_);
  ++files_done_;
  tell();
}

void Status::student_done() {
  const std::lock_guard lock(mutex_);
  ++students_done_;
  tell();
}

}  // namespace onepass::driver::course

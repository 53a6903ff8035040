// How far the grading of a class has come, and the time that is left.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include "driver/progress.h"

namespace onepass::driver::course {

/// "12 of 100 students, 96 of 812 files graded, about 14 min left". On a terminal it is one line
/// that changes; elsewhere a line a minute.
class Status {
 public:
  /// Of the students so many need no file graded any more.
  Status(std::size_t students, std::size_t files, std::size_t students_done);

  /// From any thread.
  void file_done();
  void student_done();

 private:
  std::string line() const;
  void tell();

  using Clock = std::chrono::steady_clock;
  const std::size_t students_, files_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  Progress progress_;
  Clock::time_point told_ = begin_;
  std::size_t students_done_, files_done_ = 0;
};

/// "about 14 min", "less than a minute", "about 3 h 20 min".
std::string duration_text(double seconds);

}  // namespace onepass::driver::course

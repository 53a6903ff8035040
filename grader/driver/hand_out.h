// Which check is graded next, and by whom.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/report.h"

namespace onepass::driver {

/// The checks of an exercise on their way to the processes that grade them: each goes to the first
/// that is free. Any number of threads may ask.
class HandOut {
 public:
  /// After a check that is `last` no more are handed out.
  using IsLast = std::function<bool(const Json& check)>;
  explicit HandOut(std::vector<std::string> names, IsLast last = nullptr)
      : names_(std::move(names)), is_last_(std::move(last)), end_(names_.size()) {}

  /// The next check's name, in the order of the workbook or from its end; nothing if that was all.
  std::optional<std::string> next(bool from_end = false);

  /// What became of one. After kMostTimeouts that ran out of time no more are handed out: of those
  /// from the end no more from there, for the ones before them still count.
  void note(const Json& check, bool from_end = false);

 private:
  const std::vector<std::string> names_;
  const IsLast is_last_;
  std::mutex mutex_;
  std::size_t next_ = 0, end_;
  int timeouts_ = 0, timeouts_from_end_ = 0;
};

/// The names of all checks.
std::vector<std::string> names_of(const Json& checks);

}  // namespace onepass::driver

// What each thread of a block holds after a reduction that went wrong. Where the total does not
// reach every thread, each column is scaled by what its own thread happens to hold.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace onepass::common {

struct ThreadSums {
  std::string mistake;   // id
  std::string sentence;  // what to tell the student
  std::int64_t threads;  // of the block
  /// From the threads' shares (one a thread) to what each of them takes for the total.
  std::function<std::vector<double>(const std::vector<double>& shares)> reduce;
};

/// All of them, for every usual number of threads; those that are commoner first.
std::vector<ThreadSums> thread_sums();

}  // namespace onepass::common

// What each thread of a block holds after a reduction that went wrong. Where the total does not
// reach every thread, each column is scaled by what its own thread happens to hold.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chapters/common/mistakes.h"

namespace onepass::common {

struct ThreadSums {
  std::int64_t threads;  // of the block
  /// From the threads' shares (one a thread) to what each of them takes for the total.
  std::function<std::vector<double>(const std::vector<double>& shares)> reduce;
};

/// For every usual number of threads; those that are commoner first.
Table<ThreadSums> thread_sums(const std::vector<std::int64_t>& threads = {256, 1024, 512, 128, 64,
                                                                          32});

}  // namespace onepass::common

// The same work for many items, on several threads.
#pragma once

#include <functional>

namespace onepass::driver {

/// At least 1.
std::size_t processors();

/// Calls work(0) to work(count - 1), each once, on up to `threads` threads, and waits for all. If
/// calls throw, one of the exceptions is thrown on; no further call is begun then.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& work);

}  // namespace onepass::driver

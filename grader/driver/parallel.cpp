#include "driver/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace onepass::driver {

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&] {
    for (std::size_t item = next++; item < count; item = next++) {
      try {
        work(item);
      } catch (...) {
        const std::lock_guard lock(mutex);
        first = first ? first : std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t i = 0; i < std::min(count, threads); ++i) {
    pool.emplace_back(run);
  }
  for (std::thread& thread : pool) {
    thread.join();
  }
  if (first) {
    std::rethrow_exception(first);
  }
}

}  // namespace onepass::driver

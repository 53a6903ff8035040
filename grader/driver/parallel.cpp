#include "driver/parallel.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace onepass::driver {

std::size_t processors() {
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    try {
      for (std::size_t item = next++; item < count; item = next++) {
        work(item);
      }
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> pool;
  try {
    for (std::size_t i = 0; i < std::min(count, threads); ++i) {
      pool.push_back(std::async(std::launch::async, run));
    }
  } catch (const std::system_error&) {  // no more threads: those that there are do the work
    if (pool.empty()) {
      run();
    }
  }
  std::for_each(pool.begin(), pool.end(), [](const auto& thread) { thread.wait(); });
  std::for_each(pool.begin(), pool.end(), [](auto& thread) { thread.get(); });
}

}  // namespace onepass::driver

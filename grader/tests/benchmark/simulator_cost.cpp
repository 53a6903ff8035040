// What the CPU simulator costs with all its checks on: time and memory for one RMSNorm.
//
//   make -C build benchmark        rows x cols from the command line: simulator_cost 4096 4096
//
// Prints the CPU seconds of the launch, the best of several, and the most memory that the process
// ever had, beside the bytes of the tensors.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "simulator.h"

void run_rmsnorm(const float* x, const float* weight, float* y, float* rstd, int rows, int cols);

namespace {

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double peak_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

float* device_floats(std::size_t count, const char* name) {
  return static_cast<float*>(simulator::allocate(4 * count, 0, {name, 4}));
}

/// Exits if the simulator found anything: then the figures would mean nothing.
void expect_no_findings() {
  for (const simulator::Finding& finding : simulator::take_findings()) {
    std::printf("%s: %s\n", simulator::kind_name(finding.kind), finding.message.c_str());
    std::exit(1);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int rows = count > 2 ? std::atoi(arguments[1]) : 4096;
  const int cols = count > 2 ? std::atoi(arguments[2]) : 4096;
  if (rows < 1 || cols < 1) {
    std::fprintf(stderr, "Usage: simulator_cost ROWS COLS, both at least 1.\n");
    return 2;
  }
  const std::size_t elements = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  const std::size_t width = static_cast<std::size_t>(cols);
  float* const x = device_floats(elements, "x");
  float* const weight = device_floats(width, "weight");
  float* const y = device_floats(elements, "y");
  float* const rstd = device_floats(static_cast<std::size_t>(rows), "rstd");
  if (x == nullptr || weight == nullptr || y == nullptr || rstd == nullptr) {
    std::fprintf(stderr, "The simulated device has no room for %d x %d.\n", rows, cols);
    return 2;
  }
  const std::vector<float> ones(width, 1.0f);
  simulator::upload(weight, ones.data(), 4 * width);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    simulator::upload(x + row * width, ones.data(), 4 * width);
  }

  const auto best_of_three = [&](bool count_requests) {
    simulator::count_requests(count_requests);
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      const double start = cpu_seconds();
      run_rmsnorm(x, weight, y, rstd, rows, cols);
      best = std::min(best, cpu_seconds() - start);
      expect_no_findings();
    }
    return best;
  };
  const double checks = best_of_three(false);
  const double everything = best_of_three(true);
  const double tensors = 4.0 * static_cast<double>(2 * elements);
  std::printf(
      "rmsnorm/%s %d x %d fp32 on one core: all checks %.2f s, with requests and sectors "
      "%.2f s; %.0f MB at most, %.1f times x and y\n",
      ONEPASS_KERNEL, rows, cols, checks, everything, peak_bytes() / 1e6, peak_bytes() / tensors);
}

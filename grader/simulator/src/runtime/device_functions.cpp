// What ends a kernel at its own word: assert(), __trap(), and more threads than its launch bounds.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "onepass_simulator/device_calls.h"
#include "scheduling/running.h"
#include "scheduling/stopping.h"

namespace simulator {

void* dynamic_shared() {
  return reinterpret_cast<void*>(machine().memory.shared.dynamic_begin());
}

void exceed_launch_bounds(unsigned threads) {
  Launch& launch = *launch_of_kernel();
  const Findings::Writing writing(launch.machine.findings);
  const uint3& block = launch.begin.block;
  stop_with(launch, Kind::invalid_launch,
            reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "The block has " + std::to_string(block.x * block.y * block.z) +
                " threads, and the kernel's __launch_bounds__ allow " + std::to_string(threads) +
                ": a GPU does not start it (cudaErrorInvalidValue).",
            "would be started", kErrorInvalidValue);
}

void trap() {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) std::abort();
  const Findings::Writing writing(launch->machine.findings);
  stop_with(*launch, Kind::trap, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "The kernel called __trap().", "calls __trap()", kErrorLaunchFailure);
}

}  // namespace simulator

extern "C" {

/// glibc's assert() calls this. Host code's assertions end the program, as always.
[[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                const char* function) noexcept {
  using namespace simulator;
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
    std::abort();
  }
  const Findings::Writing writing(launch->machine.findings);
  stop_with(*launch, Kind::assertion, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            std::string("assert(") + assertion + ") failed.", "fails an assertion", kErrorAssert);
}

}  // extern "C"

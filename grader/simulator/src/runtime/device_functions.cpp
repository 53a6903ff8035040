// assert() and __trap() inside a kernel.
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

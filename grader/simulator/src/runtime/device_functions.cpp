// assert() and __trap() inside a kernel.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "findings/findings.h"
#include "memory/shared_memory.h"
#include "onepass_simulator/device_calls.h"
#include "runtime/errors.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

[[noreturn]] void stop_with(Kind kind, CodeAddress site, const std::string& message,
                            const std::string& action, int error) {
  findings().add(
      {kind, now.launch->kernel, message, false, {party(*now.thread, site, action)}, "", -1});
  stop_launch(error);
}

}  // namespace

bool in_kernel() {
  return now.thread != nullptr;
}

void* dynamic_shared() {
  return reinterpret_cast<void*>(shared_memory().dynamic_begin());
}

void trap() {
  if (now.thread == nullptr) std::abort();
  const ReportInProgress guard;
  stop_with(Kind::trap, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "The kernel called __trap().", "calls __trap()", kErrorLaunchFailure);
}

}  // namespace simulator

extern "C" {

/// glibc's assert() calls this. Host code's assertions end the program, as always.
[[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                const char* function) noexcept {
  using namespace simulator;
  if (now.thread == nullptr) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
    std::abort();
  }
  const ReportInProgress guard;
  stop_with(Kind::assertion, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            std::string("assert(") + assertion + ") failed.", "fails an assertion", kErrorAssert);
}

}  // extern "C"

// What runs now. The compiler's callbacks carry an address and nothing else, so the running launch,
// block and thread are found here. One launch runs at a time, on one operating system thread.
#pragma once

#include <cstdint>
#include <string>

#include "onepass_simulator/device_calls.h"
#include "scheduling/threads.h"
#include "simulator.h"
#include "traffic/traffic.h"

namespace simulator {

struct Launch {
  std::string kernel;
  LaunchShape shape;
  void (*body)(void* arguments) = nullptr;
  void* arguments = nullptr;
  std::size_t argument_bytes = 0;
  TrafficCounter traffic;
  bool failed = false;  // a finding that stops a GPU has been made
  std::uint32_t first_interval = 0;
};

struct Execution {
  Thread* thread = nullptr;  // nullptr in host code
  Block* block = nullptr;
  Launch* launch = nullptr;
  volatile bool stop_requested = false;  // set by the watchdog's signal
  volatile bool busy = false;  // the runtime writes a finding: do not interrupt or check it
};

extern Execution now;

/// The object that kernels know as `const simulator::current_thread`, under the same linker name.
extern __thread ThreadView current_thread_writable __asm__("_ZN9simulator14current_threadE")
    __attribute__((tls_model("initial-exec")));

/// The running thread's name in findings.
Party party(const Thread& thread, CodeAddress site, std::string action);

/// Called on a thread's stack: lets the others run until this one is ready again.
void wait_for_others();

/// Called on a thread's stack: lets the others of its warp run, unless they all wait for it.
void let_warp_catch_up();

/// Called on a thread's stack, after the finding is made: ends the launch with the runtime error
/// `error` (a cudaError_t) that a GPU would give. The launch's fibers are abandoned.
[[noreturn]] void stop_launch(int error);

}  // namespace simulator

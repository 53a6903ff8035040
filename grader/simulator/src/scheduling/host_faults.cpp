#include "scheduling/host_faults.h"

#include <signal.h>

#include "scheduling/machine.h"
#include "scheduling/stopping.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

struct sigaction before_host_code;  // a handler gets no argument of ours

void on_host_fault(int, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  DeviceMemory& memory = machine().memory.device;
  if (!DeviceMemory::in_range(address) || memory.set_in_reach(true)) {
    sigaction(SIGSEGV, &before_host_code, nullptr);
    return;  // the instruction faults again
  }
  const CodeAddress site = interrupted_call(program_counter(context));
  report_device_memory_on_host({address, 0, 1, AccessType::read, site}, memory, machine().findings);
}

}  // namespace

void keep_host_from_memory(bool wanted) {
  static bool kept = false;
  if (wanted && !kept) {
    struct sigaction action = {};
    action.sa_sigaction = on_host_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_host_code);
  } else if (!wanted && kept) {
    sigaction(SIGSEGV, &before_host_code, nullptr);
  }
  kept = wanted;
  machine().memory.device.set_in_reach(!wanted);
}

}  // namespace simulator

#include "scheduling/stopping.h"

#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cstdio>
#include <string>
#include <utility>

#include "device_limits.h"
#include "findings/texts.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

constexpr long kPatienceMicroseconds = 20000;  // for the running thread to obey

// A signal's handler gets no argument of ours: what it uses has to be global.

struct sigaction previous_profile, previous_fault;

alignas(64) unsigned char signal_stack[64 * 1024];   // the handlers' own
alignas(64) unsigned char rescue_stack[512 * 1024];  // of the functions that run after them

// What a handler leaves for the function that runs after it.
CodeAddress interrupted_at = 0;
volatile sig_atomic_t is_asked_to_stop = 0;  // by who waits for an answer
std::uintptr_t fault_address = 0;

/// Makes the thread go on in `function` on the rescue stack when the handler returns.
void redirect(ucontext_t& context, void (*function)()) {
  const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(rescue_stack) + sizeof rescue_stack;
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RIP] =
      static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(function));
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 8);  // as after a call
#elif defined(__aarch64__)
  context.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(function);
  context.uc_mcontext.sp = top;
#else
#error "The simulator knows the signal frames of x86-64 and aarch64 only"
#endif
}

/// The interrupted instruction's line, or, inside a library, that of the last access.
CodeAddress best_site(const Launch& launch, CodeAddress site) {
  return source_line(site).line > 0 ? site : launch.thread->last_site;
}

void after_time_over() {
  stop_as_endless(*running_launch, interrupted_at + 1);
}

/// Memory that is not there was touched by code without instrumentation.
[[noreturn]] void stop_for_fault(Launch& launch, CodeAddress site) {
  const Area area = DeviceMemory::in_range(fault_address)             ? Area::outside_device
                    : on_stack_of_block(*launch.block, fault_address) ? Area::other_stack
                                                                      : Area::elsewhere;
  const Access access = {fault_address, 1, 1, AccessType::read, site};
  launch.checkers.tell(AccessEvent{launch.thread->number, access, {area}});
  stop_launch(launch, kErrorIllegalAddress);
}

void after_fault() {
  Launch& launch = *running_launch;
  const Findings::Writing writing(launch.machine.findings);
  const CodeAddress site = best_site(launch, interrupted_at + 1);
  if (launch.machine.stacks.is_guard(fault_address)) {
    stop_with(launch, Kind::stack_overflow, site,
              "A thread's local variables and calls need more than the " +
                  std::to_string(limits::kStackBytes / 1024) +
                  " KiB that the simulator has for them, which is half of what a GPU may give: "
                  "make local arrays smaller, or end the recursion.",
              "overflows its stack", kErrorHardwareStack);
  }
  stop_for_fault(launch, site);
}

/// First after `seconds`, then again and again until the thread has stopped.
void start_timer(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const auto micros = static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6);
  const itimerval times = {{0, seconds > 0 ? kPatienceMicroseconds : 0}, {whole, micros}};
  setitimer(ITIMER_PROF, &times, nullptr);
}

void on_profile_timer(int, siginfo_t* info, void* context) {
  Launch* launch = running_launch;
  if (launch == nullptr || launch->failed) return;
  if (info->si_code <= 0) {  // another process has sent it
    is_asked_to_stop = 1;
    start_timer(1e-6 * kPatienceMicroseconds);
  }
  const bool asked_before = launch->stop_requested;
  launch->stop_requested = true;
  if (asked_before && launch->thread != nullptr && !launch->machine.findings.is_being_written()) {
    auto& frame = *static_cast<ucontext_t*>(context);
    interrupted_at = program_counter(context);
    redirect(frame, after_time_over);
  }
}

void on_fault(int, siginfo_t* info, void* context) {
  const Launch* launch = launch_of_kernel();
  if (launch == nullptr || launch->failed) {  // host code: not ours
    sigaction(SIGSEGV, &previous_fault, nullptr);
    return;  // the instruction faults again
  }
  auto& frame = *static_cast<ucontext_t*>(context);
  interrupted_at = program_counter(context);
  fault_address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  redirect(frame, after_fault);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction* previous) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(signal, &action, previous);
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

}  // namespace

CodeAddress program_counter(const void* context) {
  const auto& frame = *static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(frame.uc_mcontext.gregs[REG_RIP]);
#else
  return frame.uc_mcontext.pc;
#endif
}

Watchdog::Watchdog(double time_limit) {
  stack_t stack = {};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, nullptr);
  is_asked_to_stop = 0;
  handle(SIGPROF, on_profile_timer, &previous_profile);
  handle(SIGSEGV, on_fault, &previous_fault);
  start_timer(time_limit);
}

Watchdog::~Watchdog() {
  start_timer(0);
  sigaction(SIGPROF, &previous_profile, nullptr);
  sigaction(SIGSEGV, &previous_fault, nullptr);
}

void stop_with(Launch& launch, Kind kind, CodeAddress site, std::string message, std::string action,
               ErrorCode error) {
  launch.machine.findings.add(
      kind, launch.begin.kernel, std::move(message),
      {party(launch.begin, launch.block->number, launch.thread->number, site, std::move(action))});
  stop_launch(launch, error);
}

void stop_as_endless(Launch& launch, CodeAddress site) {
  const Findings::Writing writing(launch.machine.findings);
  // Of a sample, which says no more then: nobody asks for a line. (Without a limit it is 0 as well
  // where nothing was accessed yet.)
  if (launch.machine.access_limit > 0 && launch.accesses_left == 0) {
    launch.machine.findings.add(Kind::endless_loop, launch.begin.kernel,
                                "The kernel still runs after " +
                                    std::to_string(launch.machine.access_limit) +
                                    " accesses to memory and was stopped.",
                                {});
    stop_launch(launch, kErrorLaunchTimeout);
  }
  const std::string when =
      is_asked_to_stop != 0 ? "when the time for an answer is over"
                            : "after " + seconds_text(launch.machine.time_limit) + " s of CPU time";
  stop_with(launch, Kind::endless_loop, best_site(launch, site),
            "The kernel still runs " + when +
                " and was stopped. One thread is here now; look for a loop that does not end.",
            "is still running", kErrorLaunchTimeout);
}

}  // namespace simulator

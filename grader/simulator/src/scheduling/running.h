// What runs now.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "checkers/checkers.h"
#include "common/error_codes.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/machine.h"
#include "scheduling/threads.h"
#include "scheduling/undefined_results.h"

namespace simulator {

/// A launch, from its begin to its end, with all that belongs to it.
struct Launch {
  Launch(const LaunchedKernel& kernel, const LaunchShape& shape_, void (*body_)(void*),
         void* arguments_, std::size_t argument_bytes_,
         std::shared_ptr<const std::vector<CodeAddress>> host_calls, Machine& machine_)
      : begin{kernel.written,
              shape_.grid,
              shape_.block,
              shape_.is_cooperative,
              shape_.cluster.x == 0 ? uint3{1, 1, 1} : shape_.cluster,
              shape_.may_begin_early,
              kernel.function,
              std::move(host_calls)},
        body(body_),
        arguments(arguments_),
        argument_bytes(argument_bytes_),
        machine(machine_),
        is_shuffled(machine_.blocks.order == BlockOrder::shuffled),
        accesses_left(machine_.access_limit),
        checkers(begin, machine.settings, machine.memory, machine.shadow, machine.findings) {}

  /// A thread takes as long as some accesses, if it makes none.
  void count_threads(std::uint64_t threads) { count(4 * threads); }
  void count(std::uint64_t accesses) {
    const bool is_limited = accesses_left > 0 && accesses_left <= machine.access_limit;
    accesses_left -= is_limited ? std::min(accesses, accesses_left - 1) : 0;
  }

  const LaunchBegin begin;
  void (*const body)(void* arguments);
  void* const arguments;
  const std::size_t argument_bytes;
  Machine& machine;
  const bool is_shuffled;       // see BlockOrder
  std::uint64_t accesses_left;  // from 0 on it is never down to 0 again
  std::uint64_t turn_from = 0;  // what was left when the running thread's turn began
  Checkers checkers;
  UndefinedResults undefined_results;

  Thread* thread = nullptr;              // that runs; nullptr while host code does
  Block* block = nullptr;                // its block
  const Thread* last_thread = nullptr;   // that has returned
  Fiber scheduler;                       // waits while the threads of a round run
  bool progress = false;                 // some thread of the round did more than give way
  bool met_others = false;               // some thread of the round did an atomic operation
  std::uint32_t split_barriers = 0;      // initialised so far
  CodeAddress inside = 0;                // a place in the kernel; 0 while none is known
  uint3 cluster_wanted = {0, 0, 0};      // the kernel's own, if the launch did not know them
  bool failed = false;                   // an error that stops a GPU has been made
  volatile bool stop_requested = false;  // by the time limit's signal

  /// The launch ends with the runtime error that a GPU would give.
  void fail(ErrorCode error) {
    failed = true;
    if (error == kErrorInvalidValue) {  // a GPU would not have started it
      machine.errors.note(error);
    } else {
      machine.errors.set_sticky(error);
    }
  }
};

/// The launch that runs, or nullptr. The calls that the compiler puts before a load and the
/// functions that a kernel calls carry no handle, so this one has to be global. There is one, for
/// launches run one at a time on one operating system thread.
extern Launch* running_launch;

/// The launch if a kernel's thread runs, nullptr in host code.
inline Launch* launch_of_kernel() {
  Launch* launch = running_launch;
  return launch != nullptr && launch->thread != nullptr ? launch : nullptr;
}

/// What kernels know as `const simulator::threadIdx` and so on, under the same linker names.
#define ONEPASS_INDEX(name, symbol) \
  extern __thread uint3 name __asm__(symbol) __attribute__((tls_model("initial-exec")));
ONEPASS_INDEX(running_thread, "_ZN9simulator9threadIdxE")
ONEPASS_INDEX(running_block, "_ZN9simulator8blockIdxE")
ONEPASS_INDEX(running_block_size, "_ZN9simulator8blockDimE")
ONEPASS_INDEX(running_grid_size, "_ZN9simulator7gridDimE")
#undef ONEPASS_INDEX

/// The thread whose turn in a round is number `turn`, or the other way round.
inline std::size_t thread_or_turn(const Launch& launch, std::size_t turn) {
  return launch.is_shuffled ? launch.block->threads.size() - 1 - turn : turn;
}

/// The running thread has met its warp.
[[gnu::always_inline]] inline void begin_path(Launch& launch) {
  launch.thread->path = 0;
  launch.turn_from = launch.accesses_left;
}

/// Its path ends here, for now. Lanes that come to one place by paths of different length have
/// diverged.
[[gnu::always_inline]] inline void count_path(Launch& launch) {
  launch.thread->path += launch.turn_from - launch.accesses_left;
  launch.turn_from = launch.accesses_left;
}

/// The round goes on, on whose stack this is called on waits: the turn is that of the running
/// block's next ready thread from turn `next` on, or of the scheduler if there is none. False
/// only if the scheduler calls and no thread is ready.
[[gnu::always_inline]] inline bool pass_turn(Launch& launch, Fiber& from, std::size_t next) {
  std::vector<Thread>& threads = launch.block->threads;
  if (launch.thread != nullptr) count_path(launch);
  while (next < threads.size() &&
         threads[thread_or_turn(launch, next)].state != ThreadState::ready) {
    ++next;
  }
  if (next < threads.size() && !launch.failed) {
    Thread& thread = threads[thread_or_turn(launch, next)];
    launch.thread = &thread;
    launch.turn_from = launch.accesses_left;
    running_thread = thread.index;
    thread.gave_way = false;
    from.switch_to(thread.fiber);
    return true;
  }
  if (launch.thread == nullptr) return false;
  launch.thread = nullptr;
  from.switch_to(launch.scheduler);
  return true;
}

/// Called on a thread's stack: lets the others run until this one is ready again.
inline void wait_for_others(Launch& launch) {
  Thread& thread = *launch.thread;
  launch.progress = launch.progress || !thread.gave_way;
  launch.count(1);
  pass_turn(launch, thread.fiber, thread_or_turn(launch, thread.number) + 1);
}

/// Called on a thread's stack: lets the others of its warp run, unless they all wait for it.
void let_warp_catch_up(Launch& launch);

/// Called on a thread's stack, after the finding is made: ends the launch. Its fibers are
/// abandoned.
[[noreturn]] void stop_launch(Launch& launch, ErrorCode error);

/// Tells the checkers what the running thread does, and ends the launch if that is an error.
template <typename Event>
[[gnu::always_inline]] inline void tell_or_stop(Launch& launch, const Event& event) {
  const ErrorCode error = launch.checkers.tell(event);
  if (__builtin_expect(error != kSuccess, 0)) stop_launch(launch, error);
}

}  // namespace simulator

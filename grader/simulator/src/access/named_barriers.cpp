// Named barriers: PTX's bar.sync and bar.arrive. A block has sixteen, in no memory. Some of its
// threads meet at one, as many as the instruction says.
//
// To the scheduler and the checkers each is a barrier in shared memory (split_barriers.cpp), at an
// address where there is no memory: its number.
#include <string>

#include "access/split_barriers.h"
#include "findings/findings.h"
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {
namespace {

[[noreturn]] void refuse_meeting(Launch& launch, CodeAddress site, const std::string& why) {
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, Kind::invalid_barrier, site, why, "uses the barrier", kErrorLaunchFailure);
}

/// Warps are counted, not threads: one has come when its last lane has, of those that have not
/// returned. A lane that is there again waits for the others of its warp.
std::uint32_t arrivals_of(Launch& launch, std::uint32_t number) {
  const Thread& thread = *launch.thread;
  const unsigned warp = thread.number / 32;
  const std::uint32_t lane = 1u << thread.lane;
  const auto come = [&]() -> std::uint32_t& {
    return launch.block->split_barriers[number].lanes[warp];
  };
  while ((come() & lane) != 0) let_others_run(launch);
  come() |= lane;
  if ((launch.block->warps[warp].live & ~come()) != 0) return 0;
  come() = 0;
  return 32;
}

/// The phase that the running thread has arrived in.
std::uint64_t arrive(Launch& launch, std::uint32_t number, std::uint32_t threads,
                     CodeAddress site) {
  enter(launch, site);
  if (number >= kNamedBarriers) {
    refuse_meeting(launch, site,
                   "A block has 16 barriers, number 0 to 15, and a thread comes to number " +
                       std::to_string(number) + '.');
  }
  if (threads == 0 || threads % 32 != 0) {
    refuse_meeting(launch, site,
                   std::to_string(threads) +
                       " threads are to meet at a barrier: it counts whole warps, a multiple of "
                       "32.");
  }
  SplitBarrier& barrier = launch.block->split_barriers[number];
  if (barrier.number == 0) barrier.number = ++launch.split_barriers;
  const std::uint32_t arrivals = arrivals_of(launch, number);
  if (!launch.checkers.is_behind_phase(launch.thread->number, number)) {
    refuse_meeting(launch, site,
                   "Who meets whom at barrier number " + std::to_string(number) +
                       " is left to chance: this thread has not waited for those that met there "
                       "last, and may as well come before them. Count all that are to meet, give "
                       "each group of threads a number of its own, or let it wait in between.");
  }
  if (barrier.missing == barrier.expected) barrier.missing = barrier.expected = threads;
  if (barrier.expected != threads) {
    refuse_meeting(launch, site,
                   "Threads that do not agree meet at barrier number " + std::to_string(number) +
                       ": " + std::to_string(barrier.expected) +
                       " are to come, and this one says " + std::to_string(threads) + '.');
  }
  const std::uint64_t phase = barrier.phase;
  barrier.missing -= arrivals;
  note_arrival(launch, {barrier, *launch.block, number});
  return phase;
}

}  // namespace

void meet_at_named_barrier(std::uint32_t number, std::uint32_t threads) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  const std::uint64_t phase = arrive(*launch, number, threads, site);
  wait_for_phase(*launch, launch->block->split_barriers[number], number, phase, site);
}

void arrive_at_named_barrier(std::uint32_t number, std::uint32_t threads) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  arrive(*launch, number, threads, reinterpret_cast<CodeAddress>(__builtin_return_address(0)));
}

}  // namespace simulator

// Barriers in shared memory: cuda::barrier, and what cuda::pipeline makes of them.
//
// A phase is complete when as many have arrived as the barrier expects; then the next one begins.
// Who arrives goes on, and may wait later for the end of the phase that it has arrived in. To the
// checkers each call uses the barrier's memory as well: so one that another thread uses before a
// __syncthreads() lies behind its init() is a race.
#include <string>

#include "access/access.h"
#include "access/async_copies.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {
namespace {

constexpr unsigned kBytes = 8;
constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;  // that the hardware counts

std::uintptr_t address_of(const void* barrier) {
  return reinterpret_cast<std::uintptr_t>(barrier);
}

[[noreturn]] void refuse(Launch& launch, Kind kind, CodeAddress site, const std::string& why) {
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, kind, site, why, "uses the barrier", kErrorLaunchFailure);
}

/// The barrier, which the running thread uses in this way.
SplitBarrier& use(Launch& launch, const void* barrier, AccessType type, CodeAddress site) {
  enter(launch, site);
  const auto found = launch.block->split_barriers.find(address_of(barrier));
  if (found == launch.block->split_barriers.end()) {
    refuse(
        launch, Kind::uninitialised_shared, site,
        "A barrier is used that no thread of the block has initialised yet: let one call init(), "
        "then all __syncthreads().");
  }
  check_access({address_of(barrier), kBytes, kBytes, type, site, true});
  return found->second;
}

/// All have arrived: those that wait go on.
void complete(Launch& launch, SplitBarrier& barrier, std::uintptr_t address) {
  barrier.missing = barrier.expected;
  ++barrier.phase;
  launch.checkers.tell(SplitComplete{address});
  for (Thread& thread : launch.block->threads) {
    if (thread.state != ThreadState::at_split_barrier || thread.waits_at != address) continue;
    thread.state = ThreadState::ready;
    launch.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
  }
}

/// Gives each other thread that can run a turn.
void let_others_run(Launch& launch) {
  const Thread& thread = *launch.thread;
  launch.checkers.tell(CatchUp{thread.number});
  wait_for_others(launch);
  launch.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
}

/// Until the phase is complete. What it has brought has landed then.
void wait_for_phase(Launch& launch, SplitBarrier& barrier, std::uintptr_t address,
                    std::uint64_t phase, CodeAddress site) {
  Thread& thread = *launch.thread;
  while (barrier.phase <= phase) {
    thread.state = ThreadState::at_split_barrier;
    thread.waits_at = address;
    thread.wait_site = site;
    launch.checkers.tell(SplitWait{thread.number, site, address, barrier.missing});
    launch.checkers.tell(CatchUp{thread.number});
    warp_lane_stopped(launch, thread);
    wait_for_others(launch);
  }
  if (!barrier.copies.empty() && barrier.copies.front().batch <= phase) {
    let_others_run(launch);  // those who do not wait will have read before it lands
  }
  launch.checkers.tell(SplitPass{thread.number, address});
  barrier.copies.remove_if([&](const AsyncCopy& copy) {
    if (copy.batch > phase) return false;
    land(launch, copy);
    return true;
  });
}

}  // namespace

void init_barrier(void* barrier, std::uint32_t expected) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  check_access({address_of(barrier), kBytes, kBytes, AccessType::write, site});
  if (expected == 0 || expected > kMostArrivals) {
    refuse(*launch, Kind::invalid_barrier, site,
           "init() makes a barrier that expects " + std::to_string(expected) +
               " arrivals in each phase. It can be 1 to " + std::to_string(kMostArrivals) + '.');
  }
  launch->block->split_barriers[address_of(barrier)] = {expected, expected, 0, {}};
}

std::uint64_t arrive_at_barrier(void* barrier, std::uint32_t arrivals, bool drops_out) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return 0;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use(*launch, barrier, AccessType::atomic, site);
  if (arrivals > at.missing) {
    refuse(*launch, Kind::invalid_barrier, site,
           "More threads arrive at a barrier in one phase than init() was told to expect, " +
               std::to_string(at.expected) + '.');
  }
  const std::uint64_t phase = at.phase;
  if (drops_out) at.expected -= arrivals;
  at.missing -= arrivals;
  launch->checkers.tell(SplitArrive{launch->thread->number, address_of(barrier), at.missing});
  if (at.missing == 0 && arrivals > 0) complete(*launch, at, address_of(barrier));
  return phase;
}

void copies_arrive(void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use(*launch, barrier, AccessType::atomic, site);
  at.copies.splice(at.copies.end(), copies_of(*launch).give_to_barrier(at.phase));
}

void wait_at_barrier(const void* barrier, std::uint64_t phase) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use(*launch, barrier, AccessType::read, site);
  if (phase > at.phase || phase + 1 < at.phase) {
    refuse(*launch, Kind::invalid_barrier, site,
           "A thread waits with a token that is not of the barrier's present phase, nor of the one "
           "before: it must be what arrive() of this barrier has given last.");
  }
  wait_for_phase(*launch, at, address_of(barrier), phase, site);
}

/// The present phase, or the one before: no other can be asked for.
void wait_for_parity(const void* barrier, bool parity) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use(*launch, barrier, AccessType::read, site);
  const bool is_present = at.phase % 2 == static_cast<std::uint64_t>(parity);
  if (!is_present && at.phase == 0) return;  // the phase before the first one
  wait_for_phase(*launch, at, address_of(barrier), is_present ? at.phase : at.phase - 1, site);
}

}  // namespace simulator

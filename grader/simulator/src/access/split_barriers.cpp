// Barriers in shared memory: cuda::barrier, and what cuda::pipeline makes of them.
//
// A phase is complete when as many have arrived as the barrier expects; then the next one begins.
// Who arrives goes on, and may wait later for the end of the phase that it has arrived in. To the
// checkers each call uses the barrier's memory as well: so one that another thread uses before a
// __syncthreads() lies behind its init() is a race.
//
// Of a phase that expects bytes, too, the bulk copies land when the arrivals are complete, a thread
// waits, and all others have had a turn.
#include "access/split_barriers.h"

#include <string>

#include "access/access.h"
#include "access/async_copies.h"
#include "findings/texts.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/landing.h"
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {
namespace {

constexpr unsigned kBytes = 8;
constexpr std::uint32_t kMost = (1u << 20) - 1;  // arrivals, and bytes, that the hardware counts

std::uintptr_t address_of(const void* barrier) {
  return reinterpret_cast<std::uintptr_t>(barrier);
}

[[noreturn]] void refuse(Launch& launch, Kind kind, CodeAddress site, const std::string& why) {
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, kind, site, why, "uses the barrier", kErrorLaunchFailure);
}

/// Those that wait there look again.
void wake(Launch& launch, std::uintptr_t address) {
  for (Thread& thread : launch.block->threads) {
    if (thread.state != ThreadState::at_split_barrier || thread.waits_at != address) continue;
    thread.state = ThreadState::ready;
    launch.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
  }
}

[[noreturn]] void refuse_bytes(Launch& launch, const SplitBarrier& barrier) {
  const Findings::Writing writing(launch.machine.findings);
  const AsyncCopy& copy = barrier.bulk.front();
  const auto who = [&](unsigned thread, CodeAddress site, const std::string& does) {
    return party(launch.begin, launch.block->number, thread, site, does);
  };
  launch.machine.findings.add(
      Kind::invalid_barrier, launch.begin.kernel,
      "Copies bring more bytes to a barrier in one phase than it was told to expect, " +
          std::to_string(barrier.told) +
          ": the phase is over before they have landed. Tell it the bytes of all copies, by "
          "barrier_arrive_tx() or the like, before all have arrived.",
      {who(copy.thread, copy.to.site, copy_text(copy)),
       who(launch.thread->number, launch.thread->last_site, "completes the phase")});
  stop_launch(launch, kErrorLaunchFailure);
}

void complete(Launch& launch, SplitBarrier& barrier, std::uintptr_t address) {
  if (!barrier.bulk.empty()) refuse_bytes(launch, barrier);
  barrier.missing = barrier.expected;
  barrier.bytes = barrier.told = 0;
  ++barrier.phase;
  launch.checkers.tell(SplitComplete{address});
  wake(launch, address);
}

/// As many as the phase still expects.
void land_bulk_copies(Launch& launch, SplitBarrier& barrier, std::uintptr_t address) {
  while (!barrier.bulk.empty() && barrier.bytes > 0) {
    land(launch, barrier.bulk.front());
    barrier.bytes -= barrier.bulk.front().to.size;
    if (barrier.bytes < 0) refuse_bytes(launch, barrier);
    barrier.bulk.pop_front();
  }
  if (barrier.bytes == 0) complete(launch, barrier, address);
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
  bool gave_way = false;
  while (barrier.phase <= phase) {
    if (barrier.missing == 0 && !barrier.bulk.empty()) {  // nothing but its bytes is missing
      if (gave_way) land_bulk_copies(launch, barrier, address);
      if (!gave_way) let_others_run(launch);
      gave_way = true;
      continue;
    }
    thread.state = ThreadState::at_split_barrier;
    thread.waits_at = address;
    thread.wait_site = site;
    launch.checkers.tell(SplitWait{thread.number, site, address, {barrier.missing, barrier.bytes}});
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

/// The phase that is meant: the present one, or the one before, for no other can be asked for.
std::uint64_t phase_of_parity(const SplitBarrier& barrier, bool parity) {
  return barrier.phase - (barrier.phase % 2 != static_cast<std::uint64_t>(parity));
}
constexpr std::uint64_t kBeforeTheFirst = ~std::uint64_t{0};

/// The second time that a thread asks in vain for a phase it waits: so a program that does not ask
/// again is seen to go on too early, and one that does is seen to wait.
bool ask(Launch& launch, SplitBarrier& barrier, std::uintptr_t address, std::uint64_t phase,
         CodeAddress site) {
  Thread& thread = *launch.thread;
  const bool is_again = thread.asked_at == address && thread.asked_for == phase;
  if (barrier.phase > phase || is_again) {
    wait_for_phase(launch, barrier, address, phase, site);
    thread.asked_at = 0;
    return true;
  }
  thread.asked_at = address;
  thread.asked_for = phase;
  let_others_run(launch);
  return false;
}

void check_token(Launch& launch, const SplitBarrier& barrier, std::uint64_t phase,
                 CodeAddress site) {
  if (phase <= barrier.phase && phase + 1 >= barrier.phase) return;
  refuse(launch, Kind::invalid_barrier, site,
         "A thread waits with a token that is not of the barrier's present phase, nor of the one "
         "before: it must be what arrive() of this barrier has given last.");
}

void access_barrier(const void* barrier, AccessType type, CodeAddress site, bool is_atomic) {
  Access access = {address_of(barrier), kBytes, kBytes, type, site, is_atomic};
  access.is_barrier = true;
  check_access(access);
}

}  // namespace

SplitBarrier& use_barrier(Launch& launch, const void* barrier, AccessType type, CodeAddress site) {
  enter(launch, site);
  if (launch.machine.memory.shared.windows().contain(address_of(barrier))) {
    refuse(launch, Kind::invalid_barrier, site,
           "A thread uses a barrier in another block's shared memory. Such a barrier is here for "
           "the threads of its own block alone.");
  }
  const auto found = launch.block->split_barriers.find(address_of(barrier));
  if (found == launch.block->split_barriers.end()) {
    refuse(
        launch, Kind::uninitialised_shared, site,
        "A barrier is used that no thread of the block has initialised yet: let one call init(), "
        "then all __syncthreads().");
  }
  if (found->second.is_invalid) {
    refuse(launch, Kind::invalid_barrier, site,
           "A barrier is used behind mbarrier.inval, which has ended it: it has to be initialised "
           "anew.");
  }
  access_barrier(barrier, type, site, true);
  return found->second;
}

void note_arrival(Launch& launch, SplitBarrier& at, const void* barrier) {
  const std::uintptr_t address = address_of(barrier);
  launch.checkers.tell(SplitArrive{launch.thread->number, address, {at.missing, at.bytes}});
  if (at.missing > 0) return;
  if (at.bytes == 0) {
    complete(launch, at, address);
  } else {
    wake(launch, address);
  }
}

void init_barrier(void* barrier, std::uint32_t expected) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  access_barrier(barrier, AccessType::write, site, false);
  if (expected == 0 || expected > kMost) {
    refuse(*launch, Kind::invalid_barrier, site,
           "init() makes a barrier that expects " + std::to_string(expected) +
               " arrivals in each phase. It can be 1 to " + std::to_string(kMost) + '.');
  }
  launch->block->split_barriers[address_of(barrier)] = {expected, expected, 0, {}, 0, 0, {}};
}

void invalidate_barrier(void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  use_barrier(*launch, barrier, AccessType::write, site).is_invalid = true;
}

std::uint64_t arrive_at_barrier(void* barrier, std::uint32_t arrivals, bool drops_out) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return 0;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::atomic, site);
  if (arrivals > at.missing) {
    refuse(*launch, Kind::invalid_barrier, site,
           "More threads arrive at a barrier in one phase than init() was told to expect, " +
               std::to_string(at.expected) +
               (at.bytes > 0 ? ". The phase is not over before its copies have landed." : "."));
  }
  const std::uint64_t phase = at.phase;
  if (drops_out) at.expected -= arrivals;
  at.missing -= arrivals;
  if (arrivals > 0) note_arrival(*launch, at, barrier);
  return phase;
}

void expect_bytes(void* barrier, std::uint32_t bytes) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::atomic, site);
  at.bytes += bytes;
  at.told += bytes;
  if (at.told > kMost) {
    refuse(*launch, Kind::invalid_barrier, site,
           "A barrier is told to expect " + std::to_string(at.told) +
               " bytes in one phase. It can count " + std::to_string(kMost) + '.');
  }
}

void copies_arrive(void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::atomic, site);
  at.copies.splice(at.copies.end(), copies_of(*launch).give_to_barrier(at.phase));
}

void wait_at_barrier(const void* barrier, std::uint64_t phase) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site);
  check_token(*launch, at, phase, site);
  wait_for_phase(*launch, at, address_of(barrier), phase, site);
}

void wait_for_parity(const void* barrier, bool parity) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site);
  const std::uint64_t phase = phase_of_parity(at, parity);
  if (phase != kBeforeTheFirst) wait_for_phase(*launch, at, address_of(barrier), phase, site);
}

bool ask_barrier(const void* barrier, std::uint64_t phase) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return true;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site);
  check_token(*launch, at, phase, site);
  return ask(*launch, at, address_of(barrier), phase, site);
}

bool ask_for_parity(const void* barrier, std::uint32_t parity) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return true;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site);
  const std::uint64_t phase = phase_of_parity(at, parity % 2 != 0);
  return phase == kBeforeTheFirst || ask(*launch, at, address_of(barrier), phase, site);
}

}  // namespace simulator

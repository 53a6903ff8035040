// Barriers in shared memory: cuda::barrier, and what cuda::pipeline makes of them.
//
// A phase is complete when as many have arrived as the barrier expects; then the next one begins.
// Who arrives goes on, and may wait later for the end of the phase that it has arrived in. To the
// checkers each call uses the barrier's memory as well: so one that another thread uses before a
// __syncthreads() lies behind its init() is a race.
//
// Of a phase that expects bytes, too, the bulk copies land when the arrivals are complete, a thread
// waits, and all others have had a turn. Asynchronous stores (async_stores.cpp) may come from other
// blocks of the cluster: they land when all of these have done what they can.
//
// Other blocks may arrive at a barrier, too, and tell it bytes. To wait there is for the threads of
// its own block.
#include "access/split_barriers.h"

#include <string>
#include <utility>

#include "access/access.h"
#include "access/async_copies.h"
#include "findings/texts.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/clusters.h"
#include "scheduling/landing.h"
#include "scheduling/split_waits.h"
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {

void let_others_run(Launch& launch) {
  const Thread& thread = *launch.thread;
  launch.checkers.tell(CatchUp{thread.number});
  wait_for_others(launch);
  launch.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
}

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

void wake(Launch& launch, const UsedBarrier& used) {
  if (&used.block == launch.block) {
    wake(launch, used.address);
  } else {
    wake_waiting_at(used.block, used.address);
  }
}

[[noreturn]] void refuse_bytes(Launch& launch, const SplitBarrier& barrier) {
  const Findings::Writing writing(launch.machine.findings);
  const AsyncCopy& copy = barrier.bulk.front();
  const auto who = [&](std::uint64_t block, unsigned thread, CodeAddress site,
                       const std::string& does) {
    return party(launch.begin, block, thread, site, does);
  };
  launch.machine.findings.add(
      Kind::invalid_barrier, launch.begin.kernel,
      std::string(copy.is_store ? "Asynchronous stores" : "Copies") +
          " bring more bytes to a barrier in one phase than it was told to expect, " +
          std::to_string(barrier.told) +
          ": the phase is over before they have landed. Tell it the bytes of all " +
          (copy.is_store ? "stores, by mbarrier_arrive_expect_tx()"
                         : "copies, by barrier_arrive_tx()") +
          " or the like, before all have arrived.",
      {who(copy.block, copy.thread, copy.to.site, copy_text(copy)),
       who(launch.block->number, launch.thread->number, launch.thread->last_site,
           "completes the phase")});
  stop_launch(launch, kErrorLaunchFailure);
}

void complete(Launch& launch, const UsedBarrier& used) {
  SplitBarrier& barrier = used.at;
  if (!barrier.bulk.empty()) refuse_bytes(launch, barrier);
  barrier.missing = barrier.expected;
  barrier.bytes = barrier.told = 0;
  ++barrier.phase;
  launch.checkers.tell(SplitComplete{used.block.seat, used.address, barrier.number, barrier.phase,
                                     std::exchange(barrier.has_stores, false)});
  wake(launch, used);
}

/// What is on its way there may land now, if another thread has had a turn.
bool may_land(const Launch& launch, const SplitBarrier& barrier, bool gave_way) {
  return barrier.has_stores && launch.block->cluster != nullptr ? barrier.all_wait : gave_way;
}

/// As many as the phase still expects.
void land_bulk_copies(Launch& launch, SplitBarrier& barrier, std::uintptr_t address) {
  barrier.all_wait = false;
  while (!barrier.bulk.empty() && barrier.bytes > 0) {
    land(launch, barrier.bulk.front());
    barrier.bytes -= barrier.bulk.front().to.size;
    if (barrier.bytes < 0) refuse_bytes(launch, barrier);
    barrier.bulk.pop_front();
  }
  if (barrier.bytes == 0) complete(launch, {barrier, *launch.block, address});
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

/// What the phase has brought has landed then.
void wait_for_phase(Launch& launch, SplitBarrier& barrier, std::uintptr_t address,
                    std::uint64_t phase, CodeAddress site) {
  Thread& thread = *launch.thread;
  bool gave_way = false;
  while (barrier.phase <= phase) {
    const bool needs_bytes = barrier.missing == 0 && !barrier.bulk.empty();  // and nothing else
    if (needs_bytes && may_land(launch, barrier, gave_way)) {
      land_bulk_copies(launch, barrier, address);
      continue;
    }
    if (needs_bytes && !gave_way) {
      let_others_run(launch);
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

void wake(Launch& launch, std::uintptr_t address) {
  for (Thread& thread : launch.block->threads) {
    if (thread.state != ThreadState::at_split_barrier || thread.waits_at != address) continue;
    thread.state = ThreadState::ready;
    launch.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
  }
}

UsedBarrier use_barrier(Launch& launch, const void* barrier, AccessType type, CodeAddress site,
                        BarrierOf whose) {
  enter(launch, site);
  const SharedMemory& shared = launch.machine.memory.shared;
  const bool is_far = shared.windows().contain(address_of(barrier));
  if (is_far && whose == BarrierOf::own_block) {
    refuse(
        launch, Kind::invalid_barrier, site,
        type == AccessType::read
            ? "A thread waits at a barrier in another block's shared memory. Only the threads of "
              "its own block may wait there: others can only arrive."
            : "A thread uses a barrier in another block's shared memory by a call for those of "
              "its own block. There it can arrive by "
              "cuda::ptx::mbarrier_arrive(sem_release, scope_cluster, space_cluster, barrier) "
              "and store by cuda::ptx::st_async().");
  }
  // The checkers first: to them the other block may not have begun, or may have ended.
  if (is_far) access_barrier(barrier, type, site, true);
  Block* const owner = is_far ? owner_of_shared(launch, address_of(barrier)) : launch.block;
  const std::uintptr_t address = shared.home(address_of(barrier));
  const auto none = launch.block->split_barriers.end();
  const auto found = owner == nullptr ? none : owner->split_barriers.find(address);
  if (owner == nullptr || found == owner->split_barriers.end()) {
    refuse(launch, Kind::uninitialised_shared, site,
           is_far ? "A barrier of another block is used that no thread of it has initialised yet: "
                    "let one thread of each block call init(), then all cluster.sync()."
                  : "A barrier is used that no thread of the block has initialised yet: let one "
                    "call init(), then all __syncthreads().");
  }
  if (found->second.is_invalid) {
    refuse(launch, Kind::invalid_barrier, site,
           "A barrier is used behind mbarrier.inval, which has ended it: it has to be initialised "
           "anew.");
  }
  if (!is_far) access_barrier(barrier, type, site, true);
  return {found->second, *owner, address};
}

void note_arrival(Launch& launch, const UsedBarrier& used) {
  const SplitBarrier& at = used.at;
  launch.checkers.tell(
      SplitArrive{launch.thread->number, used.block.seat, used.address, {at.missing, at.bytes}});
  if (at.missing > 0) return;
  if (at.bytes == 0) {
    complete(launch, used);
  } else {
    wake(launch, used);
  }
}

void init_barrier(void* barrier, std::uint32_t expected) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  if (launch->machine.memory.shared.windows().contain(address_of(barrier))) {
    refuse(*launch, Kind::invalid_barrier, site,
           "A thread initialises a barrier in another block's shared memory. That is for the "
           "threads of its own block.");
  }
  access_barrier(barrier, AccessType::write, site, false);
  if (expected == 0 || expected > kMost) {
    refuse(*launch, Kind::invalid_barrier, site,
           "init() makes a barrier that expects " + std::to_string(expected) +
               " arrivals in each phase. It can be 1 to " + std::to_string(kMost) + '.');
  }
  SplitBarrier& made = launch->block->split_barriers[address_of(barrier)] = {};
  made.expected = made.missing = expected;
  made.number = ++launch->split_barriers;
}

void invalidate_barrier(void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  use_barrier(*launch, barrier, AccessType::write, site).at.is_invalid = true;
}

std::uint64_t arrive_at_barrier(void* barrier, std::uint32_t arrivals, bool drops_out,
                                BarrierOf whose) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return 0;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  const UsedBarrier used = use_barrier(*launch, barrier, AccessType::atomic, site, whose);
  SplitBarrier& at = used.at;
  if (arrivals > at.missing) {
    refuse(*launch, Kind::invalid_barrier, site,
           "More threads arrive at a barrier in one phase than init() was told to expect, " +
               std::to_string(at.expected) +
               (at.bytes > 0 ? ". The phase is not over before its copies have landed." : "."));
  }
  const std::uint64_t phase = at.phase;
  if (drops_out) at.expected -= arrivals;
  at.missing -= arrivals;
  if (arrivals > 0) note_arrival(*launch, used);
  return phase;
}

void expect_bytes(void* barrier, std::uint32_t bytes, BarrierOf whose) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::atomic, site, whose).at;
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
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::atomic, site).at;
  at.copies.splice(at.copies.end(), copies_of(*launch).give_to_barrier(at.phase));
}

void wait_at_barrier(const void* barrier, std::uint64_t phase) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site).at;
  check_token(*launch, at, phase, site);
  wait_for_phase(*launch, at, address_of(barrier), phase, site);
}

void wait_for_parity(const void* barrier, bool parity) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site).at;
  const std::uint64_t phase = phase_of_parity(at, parity);
  if (phase != kBeforeTheFirst) wait_for_phase(*launch, at, address_of(barrier), phase, site);
}

bool ask_barrier(const void* barrier, std::uint64_t phase) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return true;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site).at;
  check_token(*launch, at, phase, site);
  return ask(*launch, at, address_of(barrier), phase, site);
}

bool ask_for_parity(const void* barrier, std::uint32_t parity) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return true;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  SplitBarrier& at = use_barrier(*launch, barrier, AccessType::read, site).at;
  const std::uint64_t phase = phase_of_parity(at, parity % 2 != 0);
  return phase == kBeforeTheFirst || ask(*launch, at, address_of(barrier), phase, site);
}

}  // namespace simulator

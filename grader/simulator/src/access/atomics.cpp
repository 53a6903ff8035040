// Atomic operations. The threads of the simulator never run at the same time, so an atomic is a
// load and a store; what matters is what it means to the checkers: atomics do not race with one
// another, and with a fence they order other accesses (races/ordering.h).
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "access/access.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/running.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

/// A thread that reads or tries the same word so often waits for another thread to change it.
constexpr std::uint32_t kPatience = 32;

/// Called after an operation that changed nothing: lets the others run now and then. Work, such as
/// a maximum over many elements, is told from waiting by its different operands.
void count_try(Launch& launch, std::uintptr_t word, std::uint64_t operand) {
  SpinWait& spin = launch.thread->spin;
  const std::uint64_t key = word ^ operand * 0x9e3779b97f4a7c15;
  if (std::find(std::begin(spin.recent), std::end(spin.recent), key) == std::end(spin.recent)) {
    spin.recent[spin.newest++ % std::size(spin.recent)] = key;
    spin.tries = 0;
  }
  if (++spin.tries % kPatience == 0) {
    // Less often, it may have done something before.
    launch.thread->gave_way = spin.tries > kPatience;
    wait_for_others(launch);
  }
}

/// Where blocks are shuffled, others come between what a thread has read and its first
/// compare-and-swap, which would find that unchanged: so it fails here too, and who does not look
/// at what it gives loses an update. Two atomics are not one either: others come before a thread's
/// first atomic store, which may depend on a load, and before its second atomic of whatever kind.
/// Once for each thread, or threads would wait for one another in turn.
void let_others_swap(Launch& launch, std::uintptr_t word, AtomicUpdate update,
                     std::uint64_t comparand, unsigned size) {
  Thread& thread = *launch.thread;
  if (!launch.is_shuffled || thread.let_others_swap) return;
  const bool swaps = update == compare_and_swap;
  if (!swaps && update != nullptr && !std::exchange(thread.has_updated, true)) return;
  const Memory& memory = launch.machine.memory;
  const bool is_there = memory.shared.in_static(word) || memory.shared.in_dynamic(word) ||
                        (DeviceMemory::in_range(word) && memory.device.containing(word, size));
  if (!is_there) return;
  // One that would fail waits for others already.
  if (swaps && std::memcmp(reinterpret_cast<const void*>(word), &comparand, size) != 0) return;
  thread.let_others_swap = launch.met_others = true;
  wait_for_others(launch);
}

void note_synchronisation(Launch& launch, std::uintptr_t word, CodeAddress atomic,
                          bool only_reads) {
  launch.met_others = true;
  const SharedMemory& shared = launch.machine.memory.shared;
  if (launch.block->cluster != nullptr && (shared.in_static(word) || shared.in_dynamic(word))) {
    word = shared.in_window(word, launch.block->seat);  // the same variable of two blocks is two
  }
  launch.checkers.tell(Synchronisation{launch.thread->number, word, atomic, only_reads});
}

}  // namespace

void check_volatile(const Access& access) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) {
    check_access(access);
    return;
  }
  // The load itself comes after this call. So if others run first, they do so before the load is
  // noted: what it then reads is known to be theirs.
  if (access.type == AccessType::read) {
    count_try(*launch, access.address, 0);
  } else {
    launch->thread->spin = {};
  }
  note_synchronisation(*launch, access.address, 0, access.type == AccessType::read);
  Access as_volatile = access;
  as_volatile.is_volatile = true;
  check_access(as_volatile);
}

std::uint64_t compare_and_swap(std::uint64_t old_bits, std::uint64_t operand,
                               std::uint64_t comparand) {
  return old_bits == comparand ? operand : old_bits;
}

std::uint64_t keep(std::uint64_t old_bits, std::uint64_t, std::uint64_t) {
  return old_bits;
}

OldWord atomic_update(void* address, int bytes, AtomicUpdate update, std::uint64_t operand,
                      std::uint64_t comparand, FenceScope scope) {
  const auto size = static_cast<unsigned>(bytes);
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  const auto word = reinterpret_cast<std::uintptr_t>(address);
  Launch* launch = launch_of_kernel();
  if (launch != nullptr) {
    let_others_swap(*launch, word, update, comparand, size);
    note_synchronisation(*launch, word, site, update == keep);
  }
  Access access = {word, size, size, AccessType::atomic, site, true};
  access.is_in_block = scope == FenceScope::block;
  access.is_load = update == keep;
  access.is_exchange = update == nullptr;
  if (update == compare_and_swap) access.expected = &comparand;
  check_access(access);
  const std::uint64_t unset =
      launch != nullptr && access.is_exchange ? launch->checkers.take_unset_exchange() : 0;
  std::uint64_t old_bits = 0;
  std::memcpy(&old_bits, address, size);
  const std::uint64_t new_bits = update == nullptr ? operand : update(old_bits, operand, comparand);
  std::memcpy(address, &new_bits, size);
  if (launch != nullptr) {
    if (std::memcmp(&new_bits, &old_bits, size) == 0) {
      count_try(*launch, word, operand);
    } else {
      launch->thread->spin = {};
    }
  }
  return {old_bits, unset};
}

std::uint64_t use_unset(std::uint64_t bits, std::uint64_t unset) {
  Launch* launch = launch_of_kernel();
  if (launch != nullptr) launch->checkers.use_exchanged(unset);
  return bits;
}

void memory_fence(FenceScope scope) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  launch->checkers.tell(Fence{launch->thread->number, scope != FenceScope::block});
}

void acquire_memory(FenceScope scope) {
  Launch* launch = launch_of_kernel();
  if (launch != nullptr && scope != FenceScope::block)
    launch->checkers.tell(Acquire{launch->thread->number});
}

void yield() {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  obey_stop(*launch, reinterpret_cast<CodeAddress>(__builtin_return_address(0)));
  launch->thread->gave_way = launch->thread->spin.tries > 1;
  wait_for_others(*launch);
}

long long clock_ticks() {
  static long long ticks = 0;
  return ++ticks;
}

}  // namespace simulator

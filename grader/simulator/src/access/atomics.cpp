#include "access/atomics.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "onepass_simulator/device_calls.h"
#include "races/ordering.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

/// A thread that reads or tries the same word so often waits for another thread to change it.
constexpr std::uint32_t kPatience = 32;

/// Called after an operation that changed nothing: lets the others run now and then. Work, such as
/// a maximum over many elements, is told from waiting by its different operands.
void count_try(Thread& thread, std::uintptr_t word, std::uint64_t operand) {
  SpinWait& spin = thread.spin;
  const std::uint64_t key = word ^ operand * 0x9e3779b97f4a7c15;
  if (std::find(std::begin(spin.recent), std::end(spin.recent), key) == std::end(spin.recent)) {
    spin.recent[spin.newest++ % std::size(spin.recent)] = key;
    spin.tries = 0;
  }
  if (++spin.tries % kPatience == 0) {
    thread.gave_way = spin.tries > kPatience;  // else it may have done something before
    wait_for_others();
  }
}

}  // namespace

void check_volatile(const Access& access) {
  if (now.thread == nullptr) {
    check_access(access);
    return;
  }
  // The load itself comes after this call. So if others run first, they do so before the load is
  // noted: what it then reads is known to be theirs.
  if (access.type == AccessType::read) {
    count_try(*now.thread, access.address, 0);
  } else {
    now.thread->spin = {};
  }
  note_synchronising_access(*now.thread, *now.block, access.address);
  Access as_atomic = access;
  as_atomic.is_atomic = true;
  check_access(as_atomic);
}

std::uint64_t atomic_update(void* address, int bytes, AtomicUpdate update, std::uint64_t operand,
                            std::uint64_t comparand) {
  const auto size = static_cast<unsigned>(bytes);
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  const auto word = reinterpret_cast<std::uintptr_t>(address);
  if (now.thread != nullptr) note_synchronising_access(*now.thread, *now.block, word);
  check_access({word, size, size, AccessType::atomic, site, true});
  std::uint64_t old_bits = 0;
  std::memcpy(&old_bits, address, size);
  const std::uint64_t new_bits = update(old_bits, operand, comparand);
  std::memcpy(address, &new_bits, size);
  if (now.thread != nullptr) {
    if (std::memcmp(&new_bits, &old_bits, size) == 0) {
      count_try(*now.thread, word, operand);
    } else {
      now.thread->spin = {};
    }
  }
  return old_bits;
}

void memory_fence(FenceScope) {
  if (now.thread != nullptr) note_fence(*now.thread, *now.block);
}

void yield() {
  if (now.thread == nullptr) return;
  obey_stop(reinterpret_cast<CodeAddress>(__builtin_return_address(0)));
  now.thread->gave_way = now.thread->spin.tries > 1;
  wait_for_others();
}

long long clock_ticks() {
  static long long ticks = 0;
  return ++ticks;
}

}  // namespace simulator

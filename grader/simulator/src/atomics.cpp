#include "atomics.h"

#include <cstring>

#include "execution.h"
#include "onepass_simulator/device_calls.h"
#include "ordering.h"
#include "stopping.h"

namespace simulator {
namespace {

/// A thread that reads or tries the same word so often waits for another thread to change it.
constexpr std::uint32_t kPatience = 32;

/// Called after an operation that changed nothing: lets the others run now and then.
void count_fruitless(Thread& thread) {
  if (++thread.fruitless % kPatience == 0) {
    thread.gave_way = true;
    wait_for_others();
  }
}

}  // namespace

void check_volatile(const Access& access) {
  if (now.thread == nullptr) {
    check_access(access);
    return;
  }
  note_synchronising_access(*now.thread, *now.block, access.address);
  Access as_atomic = access;
  as_atomic.is_atomic = true;
  check_access(as_atomic);
  if (access.type == AccessType::read) {
    count_fruitless(*now.thread);
  } else {
    now.thread->fruitless = 0;
  }
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
      count_fruitless(*now.thread);
    } else {
      now.thread->fruitless = 0;
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
  now.thread->gave_way = true;
  wait_for_others();
}

long long clock_ticks() {
  static long long ticks = 0;
  return ++ticks;
}

}  // namespace simulator

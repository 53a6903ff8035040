#include "scheduling/landing.h"

#include <cstring>

namespace simulator {

void land(Launch& launch, const AsyncCopy& copy, bool is_awaited) {
  launch.checkers.tell(CopyEnd{&copy, is_awaited});
  auto* const to = reinterpret_cast<unsigned char*>(copy.to.address);
  if (copy.is_store) {
    std::memcpy(to, copy.value, copy.to.size);
    return;
  }
  const void* const from =
      copy.is_read ? copy.value : reinterpret_cast<const void*>(copy.from.address);
  std::memcpy(to, from, copy.from.size);
  std::memset(to + copy.from.size, 0, copy.to.size - copy.from.size);
}

void end_copies_of_thread(Launch& launch) {
  Block& block = *launch.block;
  const Thread& thread = *launch.thread;
  if (!block.copies.empty()) {
    for (const AsyncCopy& copy : block.copies[thread.number].under_way()) {
      launch.checkers.tell(CopyLeft{&copy});
    }
  }
  if (block.bulk_copies.empty()) return;
  CopyQueue& queue = block.bulk_copies[thread.number];
  for (const AsyncCopy& copy : queue.under_way()) {
    if (!copy.is_read) launch.checkers.tell(CopyLeft{&copy});
  }
  queue.commit();
  queue.wait(0, thread.last_site, [&](const AsyncCopy& copy) { land(launch, copy, false); });
}

void tell_copies_at_barriers(Launch& launch) {
  for (const auto& [address, barrier] : launch.block->split_barriers) {
    for (const AsyncCopy& copy : barrier.copies) launch.checkers.tell(CopyLeft{&copy});
    for (const AsyncCopy& copy : barrier.bulk) launch.checkers.tell(CopyLeft{&copy});
  }
}

}  // namespace simulator

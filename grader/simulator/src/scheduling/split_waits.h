// Threads that wait at a barrier in shared memory, seen from another block of the cluster.
#pragma once

#include "scheduling/threads.h"

namespace simulator {

/// Only the bytes of asynchronous stores are missing, and they are on their way.
inline bool waits_for_stores(const SplitBarrier& barrier) {
  return barrier.has_stores && barrier.missing == 0 && !barrier.bulk.empty();
}

/// They are all the bytes that the phase expects.
inline bool has_all_bytes(const SplitBarrier& barrier) {
  std::int64_t bytes = 0;
  for (const AsyncCopy& store : barrier.bulk) bytes += store.to.size;
  return bytes >= barrier.bytes;
}

/// Those of a block that does not run look again when it goes on. False if there are none.
inline bool wake_waiting_at(Block& block, std::uintptr_t barrier) {
  bool any = false;
  for (Thread& thread : block.threads) {
    if (thread.state != ThreadState::at_split_barrier || thread.waits_at != barrier) continue;
    thread.state = ThreadState::ready;
    any = thread.is_woken = true;
  }
  return any;
}

}  // namespace simulator

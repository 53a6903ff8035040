// What the scheduler knows of the running threads, warps and blocks. What their accesses mean, the
// checkers keep for themselves.
//
// A block is an array of threads, each a fiber. Thread number n (x fastest, then y, then z) is lane
// n % 32 of warp n / 32. A thread is ready, or waits for others: at the block's barrier, at the
// grid's (grid_barrier.h) or in a warp operation. The one that completes the set wakes the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "events/events.h"
#include "memory/shared_memory.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/copy_queue.h"
#include "scheduling/fiber.h"
#include "scheduling/split_barrier.h"

namespace simulator {

enum class ThreadState : std::uint8_t {
  ready,
  at_barrier,
  at_cluster_barrier,
  at_grid_barrier,
  at_split_barrier,
  in_warp_operation,
  returned
};

/// A thread that does the same few atomics or volatile reads again and again, and changes nothing
/// by it, waits for another thread.
struct SpinWait {
  std::uint64_t recent[4] = {};  // the last different ones: address and operand, mixed
  std::uint32_t newest = 0;
  std::uint32_t tries = 0;  // in a row
};

struct Thread {
  Fiber fiber;
  Stack stack;
  uint3 index = {};
  unsigned number = 0;  // in the block
  std::uint8_t lane = 0;
  ThreadState state = ThreadState::ready;
  SpinWait spin;
  bool gave_way = false;         // in its last turn, it only waited for a word to change
  bool has_updated = false;      // by an atomic
  bool let_others_swap = false;  // before an atomic of its own, where blocks are shuffled
  std::uint32_t cluster_arrivals = 0, cluster_waits = 0;  // at the barrier of its cluster
  std::uint64_t path = 0;       // its accesses since its warp met last, up to its last stop
  CodeAddress last_site = 0;    // of the last load, store or call that the simulator saw
  CodeAddress wait_site = 0;    // where it waits, if it does
  std::uintptr_t waits_at = 0;  // the barrier in shared memory, if it waits there
  bool is_woken = false;        // by another block: the checkers are to be told
  std::uintptr_t asked_at = 0;  // the one that it has asked last, in vain, and for what phase
  std::uint64_t asked_for = 0;
};

/// What a lane asks of its warp.
struct WarpRequest {
  WarpOperation operation;
  unsigned mask;
  std::uint64_t value;
  int argument;
  int width;
};

struct Warp {
  unsigned live = 0;     // lanes that have not returned
  unsigned waiting = 0;  // lanes in a warp operation
  unsigned asking = 0;   // lanes in __activemask()
  WarpRequest request[32];
  std::uint64_t answer[32];
};

struct Cluster;  // clusters.h

struct Block {
  std::uint64_t number = 0;  // x fastest, then y, then z
  unsigned seat = 0;         // see BlockBegin
  uint3 index = {};
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  unsigned live = 0;  // threads that have not returned

  unsigned at_barrier = 0;  // threads that wait at it
  Barrier barrier_kind = Barrier::plain;
  unsigned barrier_true = 0;  // how many gave a predicate that holds
  int barrier_answer = 0;
  unsigned at_grid_barrier = 0;  // threads that wait at the grid's

  std::vector<CopyQueue> copies;                          // by thread; empty until one begins
  std::vector<CopyQueue> bulk_copies;                     // out of shared memory: likewise
  std::map<std::uintptr_t, SplitBarrier> split_barriers;  // by address

  Cluster* cluster = nullptr;  // none where the launch has no clusters
  unsigned cluster_rank = 0;
  bool is_asleep = false;  // until another block of its cluster wakes one of its threads

  ParkedShared parked;
  std::vector<std::byte> parked_stacks;  // see StackSets

  Warp& warp_of(const Thread& thread) { return warps[thread.number / 32]; }
  Thread& lane_of(const Thread& thread, int lane) {
    return threads[thread.number / 32 * 32 + static_cast<unsigned>(lane)];
  }
};

inline bool on_stack_of_block(const Block& block, std::uintptr_t address) {
  for (const Thread& thread : block.threads) {
    if (thread.stack.contains(address)) return true;
  }
  return false;
}

}  // namespace simulator

// What the simulator knows of the running threads, warps and blocks.
//
// A block is an array of threads, each a fiber. Thread number n (x fastest, then y, then z) is lane
// n % 32 of warp n / 32. A thread is ready, or waits for others: at the block's barrier or in a
// warp operation. The one that completes the set wakes the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/shared_memory.h"
#include "onepass_simulator/device_calls.h"
#include "races/ordering.h"
#include "scheduling/fiber.h"
#include "source/source_lines.h"
#include "traffic/request_matching.h"

namespace simulator {

enum class ThreadState : std::uint8_t { ready, at_barrier, in_warp_operation, returned };

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
  std::uint16_t number = 0;  // in the block
  std::uint8_t lane = 0;
  ThreadState state = ThreadState::ready;
  std::uint32_t warp_epoch = 0;       // __syncwarp()s passed since the last barrier (ordering.h)
  std::uint32_t fenced_interval = 0;  // the last interval before its last memory fence
  SpinWait spin;
  bool gave_way = false;      // in its last turn, it only waited for a word to change
  CodeAddress last_site = 0;  // of the last load, store or call that the simulator saw
  CodeAddress wait_site = 0;  // where it waits, if it does
};

/// What a lane asks of its warp.
struct WarpRequest {
  WarpOperation operation;
  unsigned mask;
  std::uint64_t value;
  int argument;
  int width;
  CodeAddress site;
  std::uint32_t interval;  // in which it came (ordering.h)
};

struct Warp {
  unsigned live = 0;     // lanes that have not returned
  unsigned waiting = 0;  // lanes in a warp operation
  unsigned asking = 0;   // lanes in __activemask()
  WarpRequests requests;
  WarpRequest request[32];
  std::uint64_t answer[32];
  WarpClock clock;
};

struct Block {
  std::uint64_t number = 0;  // x fastest, then y, then z
  uint3 index = {};
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  unsigned live = 0;  // threads that have not returned

  unsigned at_barrier = 0;  // threads that wait at it
  Barrier barrier_kind = Barrier::plain;
  unsigned barrier_true = 0;  // how many gave a predicate that holds
  int barrier_answer = 0;
  bool told_early_return = false;

  // See ordering.h.
  std::uint32_t first_interval = 0, interval = 0, fenced_interval = 0;
  std::uint32_t phase = 0, phase_begin = 0;  // its number, and its first interval
  Knowledge knowledge;
  std::uint64_t learned_version = 0;

  SharedState shared;

  Warp& warp_of(const Thread& thread) { return warps[thread.number / 32]; }
  Thread& lane_of(const Thread& thread, int lane) {
    return threads[thread.number / 32 * 32 + static_cast<unsigned>(lane)];
  }
};

/// The place with this number in a block or a grid, x fastest.
inline uint3 unflatten(std::uint64_t number, const uint3& shape) {
  const std::uint64_t row = number / shape.x;
  return {static_cast<unsigned>(number % shape.x), static_cast<unsigned>(row % shape.y),
          static_cast<unsigned>(row / shape.y)};
}

}  // namespace simulator

// What happens before what, among the accesses of one launch.
//
// The life of each block is cut into intervals, numbered through all blocks and launches. A barrier
// begins a new interval and a new phase; a memory fence begins a new interval of the same phase. An
// access is known by its interval, its thread and the number of __syncwarp()s of its lane. An
// earlier access happens before the present one if
//
//   - it was made in an earlier launch, or by the same thread;
//   - same block: a barrier lies between, which the phases tell; or, same warp, a chain of
//     __syncwarp()s leads from one lane to the other (WarpClock);
//   - a chain of fence, atomic, atomic leads from it to here: the earlier thread fences and then
//     does an atomic on some word; the present block does an atomic on that word afterwards. The
//     block then knows all that the other had done before its fence, and what that one knew itself.
//     So work "last block adds up the partial sums" and locks.
//
// Where this is coarse (a fence of one thread publishes for its whole block, an acquired word
// counts for the whole block) it takes two accesses for ordered that are not, never the other way
// round. A volatile access counts as an atomic. A shuffle orders nothing: CUDA does not promise it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "onepass_simulator/device_calls.h"
#include "source/source_lines.h"

namespace simulator {

struct Block;
struct Launch;
struct Thread;
struct Warp;

/// How far into each other block's life a block can see: block number → interval.
using Knowledge = std::unordered_map<std::uint64_t, std::uint32_t>;

/// What the lanes of a warp know of each other since the last barrier: lane b comes after all that
/// lane a did before its nth __syncwarp() for n <= seen[b][a]. (A vector clock for each lane.)
struct WarpClock {
  std::uint8_t seen[32][32] = {};
  bool is_zero = true;
};

/// An earlier access, in 8 bytes.
struct AccessRecord {
  std::uint32_t interval = 0;  // 0: none
  std::uint32_t who = 0;

  AccessRecord() = default;
  /// thread: in the block, below 1024; epoch: __syncwarp()s of the lane in this phase, below 256;
  /// site: its line (sites.h), below 8192. The bit that is left is has_second().
  AccessRecord(std::uint32_t at, std::uint32_t thread, std::uint32_t epoch, std::uint32_t site)
      : interval(at), who(thread << 22 | epoch << 14 | site) {}

  bool is_set() const { return interval != 0; }
  std::uint32_t thread() const { return who >> 22; }
  std::uint32_t warp() const { return who >> 27; }
  std::uint32_t epoch() const { return who >> 14 & 255; }
  std::uint32_t site() const { return who & 8191; }

  /// For the record of a read: another one, which it does not replace, is kept elsewhere (races.h).
  bool has_second() const { return (who & 8192) != 0; }
  void set_has_second(bool value) { who = value ? who | 8192 : who & ~8192u; }
};

/// The record of an access that `thread` makes now.
AccessRecord record_of(const Thread& thread, const Block& block, CodeAddress site);

void begin_ordering(Launch& launch);
void begin_block_ordering(Block& block);

/// All threads of the block have met.
void begin_phase(Block& block);

/// The lanes in `group` of a warp of the block pass a __syncwarp() together.
void note_syncwarp(Block& block, unsigned warp, unsigned group);

void note_fence(Thread& thread, Block& block);

/// An atomic or volatile access to the word at `address`.
void note_synchronising_access(Thread& thread, Block& block, std::uintptr_t address);

/// The block that made an access of this launch.
std::uint64_t block_of(const AccessRecord& record);

/// For an earlier access in this launch: did it happen before what the thread does now?
bool is_ordered(const AccessRecord& earlier, const Thread& thread, const Block& block);

/// The same for two accesses between two barriers of one block.
bool is_ordered_within_phase(const AccessRecord& earlier, const Thread& thread, const Block& block);

/// The word that the other block has used atomically since `earlier`, and this block as well: what
/// they lack is a fence. 0 if there is none, as far as their last atomics tell.
std::uintptr_t word_without_fence(const AccessRecord& earlier, const Block& block);

/// Has the thread called a fence since the last barrier?
bool has_fenced(const Thread& thread, const Block& block);

}  // namespace simulator

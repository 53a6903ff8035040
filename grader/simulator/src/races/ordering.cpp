#include "races/ordering.h"

#include <algorithm>
#include <vector>

#include "memory/lazy_array.h"
#include "scheduling/execution.h"
#include "source/sites.h"

namespace simulator {
namespace {

struct Interval {
  std::uint64_t block;
  std::uint32_t phase;
};

std::uint32_t last_interval = 0;
std::vector<Interval> intervals;  // of this launch

/// What the releases into one word have published. A block that tries it again and again learns
/// nothing until the version changes.
struct Word {
  Knowledge knowledge;
  std::uint64_t version = 0;
};
std::unordered_map<std::uintptr_t, Word> published;  // by address
std::uint64_t last_version = 0;

/// The last atomic of each block of this launch: only a message asks for it.
struct LastAtomic {
  std::uintptr_t word;
  std::uint32_t interval;
};
LazyArray<LastAtomic> last_atomics;

void begin_interval(Block& block) {
  block.interval = ++last_interval;
  intervals.push_back({block.number, block.phase});
}

void join(Knowledge& into, const Knowledge& from) {
  for (const auto& [block, interval] : from) {
    std::uint32_t& known = into[block];
    known = std::max(known, interval);
  }
}

const Interval& interval_of(const AccessRecord& record) {
  return intervals[record.interval - now.launch->first_interval];
}

void note_atomic(const Block& block, std::uintptr_t address) {
  if (last_atomics.size() == 0) {
    const uint3& grid = now.launch->shape.grid;
    last_atomics = LazyArray<LastAtomic>(std::size_t{grid.x} * grid.y * grid.z);
  }
  last_atomics[block.number] = {address, block.interval};
}

void reset_clocks(Block& block) {
  for (Warp& warp : block.warps) {
    if (!warp.clock.is_zero) warp.clock = {};
  }
}

void join(const WarpClock& clock, unsigned group, std::uint8_t (&joined)[32]) {
  for (unsigned left = group; left != 0; left &= left - 1) {
    const std::uint8_t(&seen)[32] = clock.seen[__builtin_ctz(left)];
    for (int lane = 0; lane < 32; ++lane) joined[lane] = std::max(joined[lane], seen[lane]);
  }
}

}  // namespace

AccessRecord record_of(const Thread& thread, const Block& block, CodeAddress site) {
  return {block.interval, thread.number, thread.warp_epoch, site_number(site)};
}

void begin_ordering(Launch& launch) {
  launch.first_interval = last_interval + 1;
  intervals.clear();
  published.clear();
  last_atomics = {};
}

void begin_block_ordering(Block& block) {
  block.phase = block.fenced_interval = 0;
  block.knowledge.clear();
  block.learned_version = 0;
  reset_clocks(block);
  begin_interval(block);
  block.first_interval = block.phase_begin = block.interval;
}

void begin_phase(Block& block) {
  ++block.phase;
  begin_interval(block);
  block.phase_begin = block.interval;
  reset_clocks(block);
  for (Thread& thread : block.threads) {
    thread.warp_epoch = 0;
    // What a thread fenced before the barrier, an atomic of any thread after it publishes.
    block.fenced_interval = std::max(block.fenced_interval, thread.fenced_interval);
  }
}

void note_syncwarp(Block& block, unsigned warp, unsigned group) {
  constexpr std::uint32_t kMostEpochs = 255;  // what a record can hold
  WarpClock& clock = block.warps[warp].clock;
  clock.is_zero = false;
  std::uint8_t joined[32] = {};
  join(clock, group, joined);
  std::uint32_t latest = 0;
  for (unsigned left = group; left != 0; left &= left - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
    const std::uint32_t epoch = ++block.threads[warp * 32 + lane].warp_epoch;
    joined[lane] = static_cast<std::uint8_t>(epoch);
    latest = std::max(latest, epoch);
  }
  for (unsigned left = group; left != 0; left &= left - 1) {
    std::copy(joined, joined + 32, clock.seen[__builtin_ctz(left)]);
  }
  if (latest == kMostEpochs) begin_phase(block);
}

void note_fence(Thread& thread, Block& block) {
  thread.fenced_interval = block.interval;
  begin_interval(block);
}

void note_synchronising_access(Thread& thread, Block& block, std::uintptr_t address) {
  const auto found = published.find(address);
  if (found != published.end() && found->second.version != block.learned_version) {
    join(block.knowledge, found->second.knowledge);
    block.learned_version = found->second.version;
  }
  note_atomic(block, address);
  const std::uint32_t fenced = std::max(thread.fenced_interval, block.fenced_interval);
  if (fenced == 0) return;
  Word& word = published[address];
  std::uint32_t& known = word.knowledge[block.number];
  if (known >= fenced) return;  // nothing new since the last time
  known = fenced;
  join(word.knowledge, block.knowledge);
  word.version = ++last_version;
}

std::uint64_t block_of(const AccessRecord& record) {
  return interval_of(record).block;
}

bool is_ordered_within_phase(const AccessRecord& earlier, const Thread& thread,
                             const Block& block) {
  if (earlier.thread() == thread.number) return true;
  const unsigned warp = thread.number / 32u;
  return earlier.warp() == warp &&
         earlier.epoch() < block.warps[warp].clock.seen[thread.lane][earlier.thread() % 32];
}

bool is_ordered(const AccessRecord& earlier, const Thread& thread, const Block& block) {
  if (earlier.interval == block.interval) return is_ordered_within_phase(earlier, thread, block);
  const Interval& interval = interval_of(earlier);
  if (interval.block == block.number &&
      (interval.phase != block.phase || is_ordered_within_phase(earlier, thread, block))) {
    return true;
  }
  const auto known = block.knowledge.find(interval.block);
  return known != block.knowledge.end() && earlier.interval <= known->second;
}

std::uintptr_t word_without_fence(const AccessRecord& earlier, const Block& block) {
  if (last_atomics.size() == 0) return 0;
  const LastAtomic& theirs = last_atomics[block_of(earlier)];
  const LastAtomic& mine = last_atomics[block.number];
  return theirs.word == mine.word && theirs.interval >= earlier.interval ? theirs.word : 0;
}

bool has_fenced(const Thread& thread, const Block& block) {
  return thread.fenced_interval >= block.phase_begin;
}

}  // namespace simulator

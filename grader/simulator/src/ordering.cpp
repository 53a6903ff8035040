#include "ordering.h"

#include <algorithm>
#include <vector>

#include "execution.h"

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

/// No barrier between: the same thread, or a __syncwarp() between lanes of one warp.
bool is_ordered_within_phase(const AccessRecord& earlier, const Thread& thread) {
  return earlier.thread() == thread.number ||
         (earlier.warp() == thread.number / 32u && earlier.epoch() < thread.warp_epoch);
}

}  // namespace

void begin_ordering(Launch& launch) {
  launch.first_interval = last_interval + 1;
  intervals.clear();
  published.clear();
}

void begin_block_ordering(Block& block) {
  block.phase = block.fenced_interval = 0;
  block.knowledge.clear();
  block.learned_version = 0;
  begin_interval(block);
  block.first_interval = block.interval;
}

void begin_phase(Block& block) {
  ++block.phase;
  begin_interval(block);
  for (Thread& thread : block.threads) {
    thread.warp_epoch = 0;
    // What a thread fenced before the barrier, an atomic of any thread after it publishes.
    block.fenced_interval = std::max(block.fenced_interval, thread.fenced_interval);
  }
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

bool is_ordered_slowly(const AccessRecord& earlier, const Thread& thread, const Block& block) {
  const Interval& interval = interval_of(earlier);
  if (interval.block == block.number &&
      (interval.phase != block.phase || is_ordered_within_phase(earlier, thread))) {
    return true;
  }
  const auto known = block.knowledge.find(interval.block);
  return known != block.knowledge.end() && earlier.interval <= known->second;
}

}  // namespace simulator

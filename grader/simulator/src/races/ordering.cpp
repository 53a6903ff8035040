#include "races/ordering.h"

#include <algorithm>

namespace simulator {
namespace {

void join(Knowledge& into, const Knowledge& from) {
  for (const auto& [block, interval] : from) {
    std::uint32_t& known = into[block];
    known = std::max(known, interval);
  }
}

void join(const WarpClock& clock, unsigned group, std::uint8_t (&joined)[32]) {
  for (unsigned left = group; left != 0; left &= left - 1) {
    const std::uint8_t(&seen)[32] = clock.seen[__builtin_ctz(left)];
    for (int lane = 0; lane < 32; ++lane) joined[lane] = std::max(joined[lane], seen[lane]);
  }
}

void reset(std::vector<WarpClock>& clocks) {
  for (WarpClock& clock : clocks) {
    if (!clock.is_zero) clock = {};
  }
}

}  // namespace

void Ordering::begin_interval() {
  Block& block = blocks_.running();
  block.interval = ++last_interval_;
  intervals_.push_back({block.number, block.phase});
}

void Ordering::on(const BlockBegin& event) {
  Block& block = blocks_.begin(event);
  block.number = event.number;
  block.threads.assign(event.threads, {});
  block.clocks.resize((event.threads + 31) / 32);
  reset(block.clocks);
  block.phase = block.fenced_interval = 0;
  block.knowledge.clear();
  block.learned_version = 0;
  begin_interval();
  block.first_interval = block.phase_begin = block.interval;
}

void Ordering::begin_phase() {
  Block& block = blocks_.running();
  ++block.phase;
  begin_interval();
  block.phase_begin = block.interval;
  reset(block.clocks);
  for (Thread& thread : block.threads) {
    thread.epoch = 0;
    // What a thread fenced before the barrier, an atomic of any thread after it publishes.
    block.fenced_interval = std::max(block.fenced_interval, thread.fenced_interval);
  }
}

void Ordering::on(const SyncwarpMet& event) {
  constexpr std::uint32_t kMostEpochs = 255;  // what a record can hold
  Block& block = blocks_.running();
  WarpClock& clock = block.clocks[event.warp];
  clock.is_zero = false;
  std::uint8_t joined[32] = {};
  join(clock, event.lanes, joined);
  std::uint32_t latest = 0;
  for (unsigned left = event.lanes; left != 0; left &= left - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
    const std::uint32_t epoch = ++block.threads[event.warp * 32 + lane].epoch;
    joined[lane] = static_cast<std::uint8_t>(epoch);
    latest = std::max(latest, epoch);
  }
  for (unsigned left = event.lanes; left != 0; left &= left - 1) {
    std::copy(joined, joined + 32, clock.seen[__builtin_ctz(left)]);
  }
  if (latest == kMostEpochs) begin_phase();
}

void Ordering::on(const Fence& event) {
  Block& block = blocks_.running();
  block.threads[event.thread].fenced_interval = block.interval;
  begin_interval();
}

void Ordering::on(const Synchronisation& event) {
  Block& block = blocks_.running();
  const auto found = published_.find(event.word);
  if (found != published_.end() && found->second.version != block.learned_version) {
    join(block.knowledge, found->second.knowledge);
    block.learned_version = found->second.version;
  }
  note_atomic(event.word);
  const std::uint32_t fenced =
      std::max(block.threads[event.thread].fenced_interval, block.fenced_interval);
  if (fenced == 0) return;
  Word& word = published_[event.word];
  std::uint32_t& known = word.knowledge[block.number];
  if (known >= fenced) return;  // nothing new since the last time
  known = fenced;
  join(word.knowledge, block.knowledge);
  word.version = ++last_version_;
}

void Ordering::note_atomic(std::uintptr_t word) {
  if (last_atomics_.size() == 0) {
    const uint3& grid = launch_.grid;
    last_atomics_ = LazyArray<LastAtomic>(std::size_t{grid.x} * grid.y * grid.z);
  }
  const Block& block = blocks_.running();
  last_atomics_[block.number] = {word, block.interval};
}

bool Ordering::is_ordered_within_phase(const AccessRecord& earlier, unsigned thread) const {
  if (earlier.thread() == thread) return true;
  return earlier.warp() == thread / 32 &&
         earlier.epoch() <
             blocks_.running().clocks[thread / 32].seen[thread % 32][earlier.thread() % 32];
}

bool Ordering::is_ordered(const AccessRecord& earlier, unsigned thread) const {
  const Block& block = blocks_.running();
  if (earlier.interval() == block.interval) return is_ordered_within_phase(earlier, thread);
  const Interval& interval = interval_of(earlier);
  if (interval.block == block.number &&
      (interval.phase != block.phase || is_ordered_within_phase(earlier, thread))) {
    return true;
  }
  const auto known = block.knowledge.find(interval.block);
  return known != block.knowledge.end() && earlier.interval() <= known->second;
}

std::uintptr_t Ordering::word_without_fence(const AccessRecord& earlier) const {
  if (last_atomics_.size() == 0) return 0;
  const LastAtomic& theirs = last_atomics_[block_of(earlier)];
  const LastAtomic& mine = last_atomics_[blocks_.running().number];
  return theirs.word == mine.word && theirs.interval >= earlier.interval() ? theirs.word : 0;
}

bool Ordering::has_fenced(unsigned thread) const {
  const Block& block = blocks_.running();
  return block.threads[thread].fenced_interval >= block.phase_begin;
}

}  // namespace simulator

#include "races/ordering.h"

#include <algorithm>
#include <utility>

namespace simulator {
namespace {

constexpr std::uint32_t kMostEpochs = 255;  // what a record can hold

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

void Ordering::begin_interval(Block& block) {
  block.interval = ++last_interval_;
  intervals_.push_back({block.number, block.phase});
}

void Ordering::on(const BlockBegin& event) {
  Block& block = blocks_.begin(event);
  block.number = event.number;
  block.threads.assign(event.threads, {});
  block.clocks.resize((event.threads + 31) / 32);
  reset(block.clocks);
  block.carried.resize(block.clocks.size());
  for (CarriedValues& values : block.carried) values.clear();
  block.split.begin(event.threads);
  block.far.begin(event.threads);
  block.phase = 0;
  block.fenced = block.fenced_before = {};
  block.has_fenced_narrowly = false;
  block.knowledge.clear();
  block.news.clear();
  block.learned_version = 0;
  block.told.clear();
  block.acquired.clear();
  block.acquires_at_barrier = false;
  block.seat = event.seat;
  block.cluster = nullptr;
  if (event.cluster_blocks > 1) begin_in_cluster(event);
  begin_interval();
  block.first_interval = block.phase_begin = block.alone_from = block.interval;
}

void Ordering::begin_in_cluster(const BlockBegin& event) {
  Block& block = blocks_.running();
  Cluster& cluster = clusters_[event.first_seat];
  if (event.rank == 0) {
    cluster.order.begin(event.cluster_blocks, event.threads);
    cluster.blocks.clear();
  }
  cluster.order.add(event.rank, event.number);
  cluster.blocks.push_back(&block);
  block.cluster = &cluster;
  block.rank = event.rank;
  block.cluster_barriers = 0;
  block.of_cluster.clear();
}

void Ordering::on(const ClusterArrive& event) {
  arrive_at_cluster(event.thread);
  if (!event.stays) begin_interval();  // what it does now is not ordered by this barrier
}

/// All know what one knows of blocks of other clusters. Of each other, those may be told by atomics
/// all that was done so far: that is more than is certain if a thread went on in between.
void Ordering::on(const ClusterMet&) {
  Cluster& cluster = *blocks_.running().cluster;
  cluster.order.meet();
  Knowledge all;
  SharedSight far;
  for (const Block* block : cluster.blocks) {
    join(all, block->knowledge);
    join(all, block->news);
    far = joined(far, block->far.of_any());
  }
  for (Block* block : cluster.blocks) {
    join(block->knowledge, all);
    join(block->acquired, all);
    block->far.learn_all(far);
    for (const Block* other : cluster.blocks) {
      block->of_cluster[other->number].join(Sight{other->interval});
    }
  }
  for (Block* block : cluster.blocks) begin_interval(*block);  // what comes now is behind it
}

bool Ordering::is_ordered_by_cluster(const AccessRecord& earlier, unsigned thread) const {
  const Block& block = blocks_.running();
  if (block.cluster == nullptr) return false;
  const std::uint32_t barriers =
      std::max(block.threads[thread].cluster_barriers, block.cluster_barriers);
  return block.cluster->order.is_before(block_of(earlier), earlier.thread(), earlier.interval(),
                                        barriers);
}

bool Ordering::knows_begin_of(unsigned seat, unsigned thread) const {
  const Block& block = blocks_.running();
  const Block& other = blocks_.at(seat);
  if (std::max(block.threads[thread].cluster_barriers, block.cluster_barriers) > 0) return true;
  const AccessRecord begin(other.first_interval, 0, 0, 0);
  return other.first_interval < oldest_ || is_seen(block.knowledge, other.number, begin) ||
         (block.threads[thread].has_learned && is_seen(block.news, other.number, begin)) ||
         block.far.know(thread, other.number, begin.thread(), begin.interval());
}

void Ordering::on(const BlockResume& event) {
  blocks_.resume(event);
  if (blocks_.running().interval < oldest_) begin_phase();  // it was at the grid's barrier
  blocks_.running().alone_from = last_interval_ + 1;
}

void Ordering::begin_phase() {
  Block& block = blocks_.running();
  ++block.phase;
  begin_interval();
  block.phase_begin = block.interval;
  reset(block.clocks);
  for (CarriedValues& values : block.carried) values.clear();
  block.split.forget();
  block.far.meet_all();
  for (Thread& thread : block.threads) {
    block.cluster_barriers = std::max(block.cluster_barriers, thread.cluster_barriers);
    thread.epoch = 0;
    thread.has_synced = false;
    thread.has_learned = false;
  }
  if (block.acquires_at_barrier) acquire(block);
  // What a thread fenced before the barrier, an atomic of any thread after it publishes.
  block.fenced_before.join(std::exchange(block.fenced, {}));
  if (!block.news.empty()) {
    join(block.knowledge, block.news);
    block.news.clear();
  }
}

void Ordering::on(const SyncwarpMet& event) {
  Block& block = blocks_.running();
  WarpClock& clock = block.clocks[event.warp];
  clock.is_zero = false;
  std::uint8_t joined[32] = {};
  join(clock, event.lanes, joined);
  Thread all;  // what one of them has done counts for the others
  for (unsigned left = event.lanes; left != 0; left &= left - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
    Thread& thread = block.threads[event.warp * 32 + lane];
    joined[lane] = static_cast<std::uint8_t>(++thread.epoch);
    thread.has_synced = true;
    all.epoch = std::max(all.epoch, thread.epoch);
    all.fenced_interval = std::max(all.fenced_interval, thread.fenced_interval);
    all.fenced_phase = std::max(all.fenced_phase, thread.fenced_phase);
    all.fenced_within = std::max(all.fenced_within, thread.fenced_within);
    all.acquired_interval = std::max(all.acquired_interval, thread.acquired_interval);
    all.has_learned = all.has_learned || thread.has_learned;
  }
  for (unsigned left = event.lanes; left != 0; left &= left - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
    Thread& thread = block.threads[event.warp * 32 + lane];
    thread.fenced_interval = all.fenced_interval;
    thread.fenced_phase = all.fenced_phase;
    thread.fenced_within = all.fenced_within;
    thread.acquired_interval = all.acquired_interval;
    thread.has_learned = all.has_learned;
    std::copy(joined, joined + 32, clock.seen[lane]);
  }
  block.split.meet(event.warp * 32, event.lanes,
                   [&](unsigned thread) { return block.threads[thread].epoch; });
  block.far.meet(event.warp * 32, event.lanes);
  block.carried[event.warp].note(event);
  if (all.epoch == kMostEpochs) begin_phase();
}

void Ordering::on(const SplitArrive& event) {
  Block& block = blocks_.running();
  if (event.seat != block.seat) return arrive_at_other_block(event);
  block.split.arrive(event.thread, block.threads[event.thread].epoch + 1, event.barrier,
                     block.clocks[event.thread / 32].seen[event.thread % 32]);
  block.far.arrive(event.thread, event.barrier);
  step(event.thread);
}

/// As by a fence and an atomic that the other block's threads see when they have waited.
void Ordering::arrive_at_other_block(const SplitArrive& event) {
  Block& block = blocks_.running();
  const std::uint32_t now = block.interval;
  on(Fence{event.thread});
  FarSight sight;
  sight.blocks = block.knowledge;
  join(sight.blocks, block.of_cluster);
  if (block.threads[event.thread].has_learned) join(sight.blocks, block.news);
  Sight own = published_by(event.thread);
  // Of its own block's barriers in shared memory: of whom it knows anything, it knows all.
  if (const auto [first, last] = block.split.known_to(event.thread); first <= last) {
    own.add_some(now, first, last);
  }
  sight.blocks[block.number].join(own);
  if (const SharedSight far = block.far.of(event.thread)) sight.join(*far);
  blocks_.at(event.seat).far.leave(event.barrier, std::move(sight));
}

void Ordering::on(const StoreCall&) {
  begin_interval();
  stores_.push_back({});
  intervals_.back().store = static_cast<std::uint32_t>(stores_.size());
}

void Ordering::on(const StoreBegin& event) {
  stores_.back() = {event.barrier, event.phase};
  begin_interval();
  Block& block = blocks_.running();
  block.alone_from = block.interval;  // a barrier does not order it
}

/// A thread comes behind its own stores where they have landed: before, copies.h tells.
bool Ordering::has_landed(const AccessRecord& record, const Interval& in, unsigned thread) const {
  const Block& block = blocks_.running();
  const Store& store = stores_[in.store - 1];
  return (in.block == block.number && record.thread() == thread) ||
         block.far.know_landed(thread, store.barrier, store.phase);
}

void Ordering::on(const ProxyFence& event) {
  step(event.thread);
}

/// What the thread does next can be told from what it has done.
void Ordering::step(unsigned thread) {
  Block& block = blocks_.running();
  block.carried[thread / 32].note(SyncwarpMet{thread / 32, 1u << thread % 32});
  if (++block.threads[thread].epoch == kMostEpochs) begin_phase();
}

void Ordering::on(const ValuesCarried& event) {
  constexpr std::size_t kMost = 127;  // the other epochs are left for __syncwarp()
  Block& block = blocks_.running();
  if (block.carried[event.warp].steps() >= kMost) return;
  Thread* const warp = &block.threads[event.warp * 32];
  for (unsigned left = event.lanes; left != 0; left &= left - 1) ++warp[__builtin_ctz(left)].epoch;
  block.carried[event.warp].note(event);
}

void Ordering::on(const Fence& event) {
  Block& block = blocks_.running();
  Thread& thread = block.threads[event.thread];
  thread.fenced_within = block.interval;
  if (event.for_all_blocks) {
    thread.fenced_interval = block.interval;
    thread.fenced_phase = block.phase_begin - 1;
    block.fenced.add_some(block.interval, event.thread, event.thread);
    on(Acquire{event.thread});
  } else {
    block.has_fenced_narrowly = true;
  }
  begin_interval();
}

/// Of the thread that was told, and of each other one for itself and, behind a barrier, for all.
void Ordering::on(const Acquire& event) {
  Block& block = blocks_.running();
  block.threads[event.thread].acquired_interval = block.interval;
  if (event.thread == block.told_thread) {
    acquire(block);
  } else {
    block.acquires_at_barrier = true;
  }
}

void Ordering::acquire(Block& block) {
  join(block.acquired, block.told);
  block.told.clear();
  block.acquires_at_barrier = false;
}

/// What the thread itself has fenced; after a __syncwarp() a lane speaks for its warp.
void Ordering::add_own(Sight& sight, std::uint32_t fenced_interval, unsigned number,
                       const Thread& thread) {
  if (fenced_interval <= sight.interval) return;
  const bool alone = !thread.has_synced;
  sight.add_some(fenced_interval, alone ? number : number & ~31u, alone ? number : number | 31u);
}

/// What an atomic of the thread tells others of its block.
Sight Ordering::published_by(unsigned number) const {
  const Block& block = blocks_.running();
  const Thread& thread = block.threads[number];
  Sight sight;
  sight.interval = thread.fenced_phase;
  sight.join(block.fenced_before);
  add_own(sight, thread.fenced_interval, number, thread);
  return sight;
}

void Ordering::on(const Synchronisation& event) {
  Block& block = blocks_.running();
  Thread& thread = block.threads[event.thread];
  const auto found = published_.find(event.word);
  if (found != published_.end()) {
    block.far.learn(event.thread, found->second.far);
    thread.has_learned = true;
    if (found->second.version != block.learned_version) {
      join(block.news, found->second.knowledge);
      join(block.told, found->second.knowledge);
      block.told_interval = block.interval;
      block.told_thread = event.thread;
      const auto own = found->second.within.find(block.number);
      if (own != found->second.within.end()) block.news[block.number].join(own->second);
      block.learned_version = found->second.version;
    }
  }
  if (event.atomic != 0) note_atomic(event);
  if (event.only_reads) return;
  const Sight sight = published_by(event.thread);
  if (sight.interval == 0 && sight.some_interval == 0 && thread.fenced_within == 0) return;
  Word& word = published_[event.word];
  word.far = joined(word.far, block.far.of(event.thread));
  bool is_new = word.knowledge[block.number].join(sight);
  if (block.has_fenced_narrowly) {
    Sight own = {block.phase_begin - 1};
    add_own(own, thread.fenced_within, event.thread, thread);
    is_new = word.within[block.number].join(own) || is_new;
  }
  if (!is_new) return;
  join(word.knowledge, block.knowledge);
  join(word.knowledge, block.news);
  join(word.knowledge, block.of_cluster);
  word.version = ++last_version_;
}

void Ordering::note_atomic(const Synchronisation& event) {
  if (last_atomics_.size() == 0) {
    const uint3& grid = launch_.grid;
    last_atomics_ = LazyArray<LastAtomics>(std::size_t{grid.x} * grid.y * grid.z);
  }
  const Block& block = blocks_.running();
  auto& [latest, before] = last_atomics_[block.number];
  if (latest.word != event.word) before = latest;
  latest = {event.word,
            event.atomic,
            block.interval,
            static_cast<std::uint16_t>(event.thread),
            block.threads[event.thread].has_synced,
            block.fenced.some_interval > 0,
            block.has_fenced_narrowly};
}

bool Ordering::is_ordered_within_phase(const AccessRecord& earlier, unsigned thread) const {
  return earlier.thread() == thread || is_known_in_phase(earlier, thread);
}

bool Ordering::is_known_in_phase(const AccessRecord& earlier, unsigned thread) const {
  const Block& block = blocks_.running();
  if (earlier.warp() == thread / 32 &&
      earlier.epoch() < block.clocks[thread / 32].seen[thread % 32][earlier.thread() % 32]) {
    return true;
  }
  return block.split.knows(thread, earlier.thread(), earlier.epoch());
}

bool Ordering::is_ordered(const AccessRecord& earlier, unsigned thread) const {
  const Block& block = blocks_.running();
  if (earlier.interval() == block.interval) {
    return is_ordered_within_phase(earlier, thread) || is_ordered_by_cluster(earlier, thread);
  }
  // As most are: a barrier of this block lies between.
  if (earlier.interval() < block.phase_begin && earlier.interval() >= block.alone_from) return true;
  const Interval& interval = interval_of(earlier);
  if (interval.store != 0) return has_landed(earlier, interval, thread);
  if (interval.block == block.number &&
      (interval.phase != block.phase || is_ordered_within_phase(earlier, thread))) {
    return true;
  }
  return is_ordered_by_words(earlier, thread);
}

bool Ordering::is_ordered_by_words(const AccessRecord& earlier, unsigned thread) const {
  const Block& block = blocks_.running();
  const std::uint64_t other = block_of(earlier);
  return is_seen(block.knowledge, other, earlier) ||
         (block.threads[thread].has_learned && is_seen(block.news, other, earlier)) ||
         is_ordered_by_cluster(earlier, thread) ||
         block.far.know(thread, other, earlier.thread(), earlier.interval());
}

bool Ordering::is_acquired(const AccessRecord& earlier, unsigned thread) const {
  const Block& block = blocks_.running();
  const std::uint64_t other = block_of(earlier);
  return !is_seen(block.told, other, earlier) || is_seen(block.acquired, other, earlier) ||
         block.threads[thread].acquired_interval >= block.told_interval ||
         is_ordered_by_cluster(earlier, thread) ||
         block.far.know(thread, other, earlier.thread(), earlier.interval());
}

bool Ordering::is_seen(const Knowledge& knowledge, std::uint64_t block,
                       const AccessRecord& access) {
  const auto found = knowledge.find(block);
  return found != knowledge.end() && found->second.covers(access.interval(), access.thread());
}

Ordering::Handover Ordering::handover(const AccessRecord& earlier, unsigned thread) const {
  using Gap = Handover::Gap;
  if (last_atomics_.size() == 0) return {};
  const std::uint64_t other = block_of(earlier);
  const Block& block = blocks_.running();
  const auto of_one_word = [&]() -> Handover {
    for (const LastAtomic& theirs : {last_atomics_[other].latest, last_atomics_[other].before}) {
      for (const LastAtomic& mine :
           {last_atomics_[block.number].latest, last_atomics_[block.number].before}) {
        if (theirs.word != 0 && theirs.word == mine.word) return {Gap::none, theirs, mine};
      }
    }
    return {};
  };
  const auto [none, theirs, mine] = of_one_word();
  if (theirs.word == 0) return {};
  const auto told = [theirs = theirs, mine = mine](Gap gap) { return Handover{gap, theirs, mine}; };
  const auto published = published_.find(mine.word);
  if (published != published_.end() && is_seen(published->second.knowledge, other, earlier)) {
    const bool by_another = mine.interval >= block.phase_begin && mine.thread != thread;
    return told(by_another ? Gap::late_barrier : Gap::none);
  }
  const std::uint32_t phase = interval_of(earlier).phase;
  const std::uint32_t atomic_phase = intervals_[theirs.interval - first_interval_].phase;
  const bool in_step = theirs.after_syncwarp && theirs.thread / 32u == earlier.warp();
  if (atomic_phase == phase && theirs.thread != earlier.thread() && !in_step) {
    return told(theirs.after_fence ? Gap::barrier : Gap::both);
  }
  return told(theirs.interval >= earlier.interval() ? Gap::fence : Gap::none);
}

}  // namespace simulator

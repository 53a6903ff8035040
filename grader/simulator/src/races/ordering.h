// What happens before what, among the accesses of one launch.
//
// The life of each block is cut into intervals, numbered through all blocks and launches. A barrier
// begins a new interval and a new phase; a memory fence begins a new interval of the same phase. An
// access is known by its interval, its thread and the number of steps of its lane (WarpClock). An
// earlier access happens before the present one if
//
//   - it was made in an earlier launch, before a barrier of the grid, or by the same thread;
//   - same block: a barrier lies between, which the phases tell; or, same warp, a chain of
//     __syncwarp()s leads from one lane to the other (WarpClock); or a chain of arrivals and waits
//     at barriers in shared memory does (split_clocks.h);
//   - a chain of fence, atomic, atomic leads from it to here: a thread fences and then does an
//     atomic on some word; the present thread does an atomic on that word afterwards, or comes
//     behind one of its block that did. It then knows all that the other had done before its
//     fence, what that one's block had done before its last barrier, or before fences of its own
//     and a barrier, and what that one knew itself. So work "last block adds up the partial sums"
//     and locks. By the memory model it must fence again before its plain loads, or the atomic must
//     acquire. That is asked where a block writes over what it has read (is_acquired()), as under
//     a lock, where a cache has the place already; the last block, which reads each partial sum
//     once, is let go without, as in the guide's own example;
//   - same cluster: a barrier of the cluster lies between (cluster_order.h), or arrivals of one
//     block at barriers in the shared memory of another (far_clocks.h).
//
// An asynchronous store (st.async) is another matter: it happens before what a thread does that
// knows the phase of the barrier to be complete in which it counts, and nothing else shows that it
// has landed. So it has an interval of its own.
//
// Where this is coarse (threads between the first and the last that fence are taken to fence too)
// it takes two accesses for ordered that are not, never the other way round. A volatile access
// counts as an atomic here: what is handed on with a flag is not blamed for the flag. A shuffle
// orders nothing: CUDA does not promise it.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/lazy_array.h"
#include "common/per_block.h"
#include "events/events.h"
#include "races/carried_values.h"
#include "races/cluster_order.h"
#include "races/far_clocks.h"
#include "races/knowledge.h"
#include "races/split_clocks.h"

namespace simulator {

/// What the lanes of a warp know of each other since the last barrier: lane b comes after all that
/// lane a did before its nth step for n <= seen[b][a]. (A vector clock for each lane.) A step is a
/// __syncwarp(), or a shuffle or the like, which orders nothing (carried_values.h).
struct WarpClock {
  std::uint8_t seen[32][32] = {};
  bool is_zero = true;
};

/// An earlier access, in 8 bytes.
struct AccessRecord {
  std::uint64_t bits = 0;  // interval, thread, epoch, second, site; 0: none

  AccessRecord() = default;
  explicit AccessRecord(std::uint64_t all) : bits(all) {}
  /// thread: in the block, below 1024; epoch: steps of the lane in this phase, below 256;
  /// site: its line (sites.h), below 8192. The bit that is left is has_second().
  AccessRecord(std::uint32_t at, std::uint32_t thread, std::uint32_t epoch, std::uint32_t site)
      : bits(std::uint64_t{at} << 32 | (thread << 22 | epoch << 14 | site)) {}

  bool is_set() const { return bits != 0; }
  std::uint32_t interval() const { return static_cast<std::uint32_t>(bits >> 32); }
  std::uint32_t thread() const { return who() >> 22; }
  std::uint32_t warp() const { return who() >> 27; }
  std::uint32_t epoch() const { return who() >> 14 & 255; }
  std::uint32_t site() const { return who() & 8191; }

  /// For the record of a read: another one, which it does not replace, is kept elsewhere
  /// (race_shadow.h).
  bool has_second() const { return (bits & kSecond) != 0; }
  void set_has_second(bool value) { bits = value ? bits | kSecond : bits & ~kSecond; }

 private:
  static constexpr std::uint64_t kSecond = 8192;

  std::uint32_t who() const { return static_cast<std::uint32_t>(bits); }
};

class Ordering {
 public:
  struct Interval {
    std::uint64_t block;
    std::uint32_t phase;
    std::uint32_t store = 0;  // it is that of an asynchronous store: its number, from 1 on
  };

  /// `intervals` counts through all launches: records of earlier ones have smaller numbers.
  Ordering(const LaunchBegin& launch, std::uint32_t& intervals)
      : launch_(launch),
        last_interval_(intervals),
        first_interval_(intervals + 1),
        oldest_(first_interval_) {}

  void on(const BlockBegin& event);
  void on(const BlockResume& event);
  void on(const BarrierMet&) { begin_phase(); }
  void on(const ClusterArrive& event);
  void on(const ClusterWaited& event) {
    Block& block = blocks_.running();
    block.threads[event.thread].cluster_barriers = block.cluster->order.barriers();
  }
  void on(const ClusterMet&);
  /// All blocks are at a barrier: what they do next is as of a new launch.
  void on(const GridMet&) { oldest_ = last_interval_ + 1; }
  void on(const ThreadReturn& event) {
    blocks_.running().threads[event.thread].has_returned = true;
    if (blocks_.running().cluster != nullptr) arrive_at_cluster(event.thread);
  }
  void on(const SyncwarpMet& event);
  void on(const ValuesCarried& event);
  void on(const SplitArrive& event);
  void on(const ProxyFence& event);
  void on(const SplitComplete& event) {
    Block& block = blocks_.at(event.seat);
    block.split.complete(event.barrier);
    block.far.complete(event.barrier, event.has_stores, event.number, event.phases);
  }
  /// Does the thread come to that barrier behind all who have met there?
  bool is_behind_phase(unsigned thread, std::uintptr_t barrier) const {
    const Block& block = blocks_.running();
    return block.split.knows_phase(thread, barrier, block.clocks[thread / 32].seen[thread % 32]);
  }
  void on(const SplitPass& event) {
    blocks_.running().split.pass(event.thread, event.barrier);
    blocks_.running().far.pass(event.thread, event.barrier);
  }
  void on(const StoreCall& event);
  void on(const StoreBegin& event);
  void on(const Fence& event);
  void on(const Acquire&);
  void on(const Synchronisation& event);

  /// All of this launch, which has ended, and the number of the first.
  std::uint32_t first_interval() const { return first_interval_; }
  std::vector<Interval> take_intervals() { return std::move(intervals_); }

  /// An access that the thread makes now, on a line with this number.
  AccessRecord record(unsigned thread, std::uint32_t site) const {
    const Block& block = blocks_.running();
    return {block.interval, thread, block.threads[thread].epoch, site};
  }

  /// The block that made an access of this launch.
  std::uint64_t block_of(const AccessRecord& record) const { return interval_of(record).block; }
  /// The running block.
  std::uint64_t block() const { return blocks_.running().number; }
  /// Its seat, and the first interval of the block on another one.
  unsigned seat() const { return blocks_.running().seat; }
  std::uint32_t block_begin_of(unsigned seat) const { return blocks_.at(seat).first_interval; }
  /// Does the thread come behind something that the block on this seat has done?
  bool knows_begin_of(unsigned seat, unsigned thread) const;
  bool is_store(const AccessRecord& record) const { return interval_of(record).store != 0; }
  /// Was it made by a block of the running one's cluster?
  bool is_in_cluster(const AccessRecord& record) const {
    const Block& block = blocks_.running();
    return block.cluster != nullptr && block.cluster->order.has(block_of(record));
  }

  /// Accesses before this interval happened before all that is done now.
  std::uint32_t oldest() const { return oldest_; }
  /// Do the running block's barriers order all that is done in its shared memory? Not if other
  /// blocks reach it, nor an asynchronous store: that may land behind any barrier.
  bool barriers_order_all() const {
    return blocks_.running().cluster == nullptr && stores_.empty();
  }
  /// The first interval of the running block, and of its phase.
  std::uint32_t block_begin() const { return blocks_.running().first_interval; }
  std::uint32_t phase_begin() const { return blocks_.running().phase_begin; }

  /// For an earlier access in this launch: did it happen before what the thread does now?
  bool is_ordered(const AccessRecord& earlier, unsigned thread) const;

  /// The same for two accesses between two barriers of one block.
  bool is_ordered_within_phase(const AccessRecord& earlier, unsigned thread) const;

  /// For an earlier access of another block: has a thread of this block fenced, or acquired, since
  /// an atomic has told of it? Yes if it is known otherwise.
  bool is_acquired(const AccessRecord& earlier, unsigned thread) const;

  /// For an earlier access in this phase: does a chain of values, carried by shuffles and the like,
  /// lead from the lane that made it to the present one?
  bool is_carried(const AccessRecord& earlier, unsigned thread) const {
    return earlier.warp() == thread / 32 &&
           blocks_.running().carried[thread / 32].have_come(earlier.thread() % 32, earlier.epoch(),
                                                            thread % 32);
  }

  /// Of the running block.
  bool has_returned(unsigned thread) const {
    return blocks_.running().threads[thread].has_returned;
  }

  /// The last atomic of a block: only a message asks for it.
  struct LastAtomic {
    std::uintptr_t word;
    CodeAddress site;
    std::uint32_t interval;
    std::uint16_t thread;
    bool after_syncwarp;      // has the thread passed one since the barrier before?
    bool after_fence;         // has some thread fenced since then?
    bool after_narrow_fence;  // has some thread called __threadfence_block()?
  };

  /// A block's last atomics on two words, the latest first: such as a lock and what it guards.
  struct LastAtomics {
    LastAtomic latest, before;
  };

  /// What keeps the last atomics of two blocks, on one word, from handing an access on.
  struct Handover {
    enum class Gap {
      none,          // they have no word in common, or it is none of these
      fence,         // before the other block's atomic
      barrier,       // between the access and the other block's atomic,
      both,          // and a fence too
      late_barrier,  // between this block's atomic and what the thread does now
    };
    Gap gap = Gap::none;
    LastAtomic theirs = {}, mine = {};
  };
  Handover handover(const AccessRecord& earlier, unsigned thread) const;

  /// Has the thread called a fence since the last barrier?
  bool has_fenced(unsigned thread) const {
    return blocks_.running().threads[thread].fenced_within >= phase_begin();
  }

 private:
  struct Thread {
    std::uint32_t epoch = 0;              // steps since the last barrier (WarpClock)
    bool has_synced = false;              // by a __syncwarp() since then
    std::uint32_t fenced_interval = 0;    // the last interval before its last fence for all blocks,
    std::uint32_t fenced_phase = 0;       // and the last one before that fence's phase
    std::uint32_t fenced_within = 0;      // the last interval before its last fence of any kind
    std::uint32_t acquired_interval = 0;  // that of its last fence or acquire, for all blocks
    bool has_returned = false;
    bool has_learned = false;            // by an atomic since the last barrier: Block::news
    std::uint32_t cluster_barriers = 0;  // that it has waited at
  };

  struct Block;
  struct Cluster {
    ClusterOrder order;
    std::vector<Block*> blocks;  // by rank
  };

  struct Block {
    std::uint64_t number = 0;
    unsigned seat = 0;
    Cluster* cluster = nullptr;  // none where it has one block
    unsigned rank = 0;
    std::uint32_t cluster_barriers = 0;  // that all its threads know of
    Knowledge of_cluster;                // of the other blocks, to be handed on by atomics
    std::uint32_t first_interval = 0, interval = 0;
    std::uint32_t phase = 0, phase_begin = 0;  // its number, and its first interval
    std::uint32_t alone_from = 0;  // the first interval since which no other block has run
    Sight fenced, fenced_before;  // what its threads have fenced in this phase, and in earlier ones
    bool has_fenced_narrowly = false;
    Knowledge knowledge;  // of all its threads
    Knowledge news;       // of this phase, for those that have learned it
    std::uint64_t learned_version = 0;
    Knowledge told;      // by atomics, to threads that have not fenced since,
    Knowledge acquired;  // and to those that have
    std::uint32_t told_interval = 0;
    unsigned told_thread = 0;  // the last one
    bool acquires_at_barrier = false;
    std::vector<Thread> threads;
    std::vector<WarpClock> clocks;       // of its warps
    std::vector<CarriedValues> carried;  // likewise
    SplitClocks split;
    FarClocks far;
  };

  /// An asynchronous store, and where it counts.
  struct Store {
    std::uint32_t barrier;
    std::uint64_t phase;
  };

  /// What the releases into one word have published. A block that tries it again and again learns
  /// nothing until the version changes.
  struct Word {
    Knowledge knowledge;
    Knowledge within;  // of a block, for itself alone: by __threadfence_block()
    SharedSight far;
    std::uint64_t version = 0;
  };

  // What few accesses ask: not part of the code of all.
  [[gnu::noinline]] bool is_ordered_by_words(const AccessRecord& earlier, unsigned thread) const;
  [[gnu::noinline]] bool is_known_in_phase(const AccessRecord& earlier, unsigned thread) const;

  void arrive_at_cluster(unsigned thread) {
    Block& block = blocks_.running();
    block.cluster->order.arrive(block.rank, thread, block.interval);
  }
  bool is_ordered_by_cluster(const AccessRecord& earlier, unsigned thread) const;
  bool has_landed(const AccessRecord& store, const Interval& in, unsigned thread) const;
  void arrive_at_other_block(const SplitArrive& event);
  void begin_in_cluster(const BlockBegin& event);
  void begin_interval(Block& block);
  void begin_interval() { begin_interval(blocks_.running()); }
  void begin_phase();
  void step(unsigned thread);
  void note_atomic(const Synchronisation& event);
  static void acquire(Block& block);
  static void add_own(Sight& sight, std::uint32_t fenced_interval, unsigned number,
                      const Thread& thread);
  Sight published_by(unsigned thread) const;
  static bool is_seen(const Knowledge& knowledge, std::uint64_t block, const AccessRecord& access);
  const Interval& interval_of(const AccessRecord& record) const {
    return intervals_[record.interval() - first_interval_];
  }

  const LaunchBegin launch_;
  std::uint32_t& last_interval_;
  const std::uint32_t first_interval_;
  std::uint32_t oldest_;
  std::vector<Interval> intervals_;
  std::vector<Store> stores_;
  PerBlock<Block> blocks_;
  std::map<unsigned, Cluster> clusters_;                // by the seat of their first block
  std::unordered_map<std::uintptr_t, Word> published_;  // by address
  std::uint64_t last_version_ = 0;
  LazyArray<LastAtomics> last_atomics_;  // by block
};

}  // namespace simulator

// Races: two threads use the same bytes, at least one of them writes, not both atomically, and
// nothing orders the two accesses.
//
// volatile makes no access atomic, so such accesses race like others: between the lanes of a warp,
// which is taken to run in step as of old, and between blocks that wait for a flag.
//
// race_shadow.h keeps the earlier accesses, ordering.h tells which of them come before the present
// one, race_report.h says what is wrong if none does. first_reads.h excuses what a compare-and-swap
// confirms.
#pragma once

#include <set>
#include <vector>

#include "common/per_block.h"
#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"
#include "races/cluster_lifetime.h"
#include "races/early_begin.h"
#include "races/first_reads.h"
#include "races/ordering.h"
#include "races/proxy_fences.h"
#include "races/race_report.h"
#include "races/race_shadow.h"
#include "source/sites.h"

namespace simulator {

/// What outlasts a launch: to clear the shadows for each would cost more than the checks. Records
/// are known as old by the number of their interval.
struct RaceMemory {
  BesideAllocations<RaceShadow> device;
  Sites sites;
  std::uint32_t last_interval = 0;
  std::vector<LaunchBefore> launches_before;  // that may run beside the next; the last at the end

  /// A call begins: before its first launch is what the caller has put on the stream.
  void begin_call() {
    launches_before.clear();
    launches_before.push_back({.is_callers = true});
  }
};

class RaceChecker {
 public:
  RaceChecker(const LaunchBegin& launch, const Memory& memory, RaceMemory& races,
              Findings& findings)
      : memory_(memory),
        races_(races),
        ordering_(launch, races.last_interval),
        report_(launch, memory, races.sites, ordering_, findings),
        lifetime_(launch, memory, ordering_, findings),
        early_begin_(launch, memory, races.launches_before, races.sites, findings) {}
  RaceChecker(const RaceChecker&) = delete;
  RaceChecker& operator=(const RaceChecker&) = delete;

  void on(const BlockBegin& event);
  void on(const BlockResume& event);
  void on(const BlockEnd& event) {
    report_.settle();
    lifetime_.on(event);
    early_begin_.on(event);
  }
  void on(const LaunchEnd&) {
    report_.settle();
    report_.withdraw_reads(first_reads_.confirmed());
  }
  void on(const BarrierMet& event) {
    report_.settle();
    ordering_.on(event);
    early_begin_.on(event);
  }
  void on(const ClusterArrive& event) { ordering_.on(event); }
  void on(const ClusterWaited& event) { ordering_.on(event); }
  void on(const ClusterMet& event) {
    report_.settle();
    ordering_.on(event);
    early_begin_.on(event);
  }
  void on(const GridMet& event) {
    report_.settle();
    ordering_.on(event);
    early_begin_.on(event);
  }
  void on(const SyncwarpMet& event) {
    report_.settle();
    ordering_.on(event);
    early_begin_.on(event);
  }
  void on(const ValuesCarried& event) { ordering_.on(event); }
  void on(const SplitArrive& event) {
    report_.settle();
    ordering_.on(event);
  }
  void on(const ProxyFence& event) {
    report_.settle();
    ordering_.on(event);
    fences_.running().fence(ordering_.record(event.thread, 0));
  }
  void on(const SplitComplete& event) { ordering_.on(event); }
  bool is_behind_phase(unsigned thread, std::uintptr_t barrier) const {
    return ordering_.is_behind_phase(thread, barrier);
  }
  void on(const StoreCall& event) {
    report_.settle();
    ordering_.on(event);
  }
  void on(const StoreBegin& event) { ordering_.on(event); }
  void on(const SplitPass& event) {
    ordering_.on(event);
    early_begin_.on(event);
  }
  void on(const ThreadReturn& event) {
    ordering_.on(event);
    first_reads_.on(event);
  }
  void on(const Fence& event) { ordering_.on(event); }
  void on(const Acquire& event) { ordering_.on(event); }
  void on(const Synchronisation& event) {
    report_.settle();
    ordering_.on(event);
    early_begin_.on(event);
  }
  void on(const WarpCall& event) { report_.on(event); }
  void on(const PrimaryAwaited& event) { early_begin_.on(event); }
  void on(const DependentsTriggered& event) {
    early_begin_.on(event, ordering_.block(), ordering_.phase_begin());
  }

  /// May the launch before this one not have ended? Then accesses are told here, before on().
  bool may_begin_early() const { return early_begin_.is_possible(); }
  void check_early(AccessEvent event) {
    if (event.place.space != MemorySpace::global) return;
    early_begin_.check(event, shadow_of(event.place), ordering_.block());
  }
  /// The next launch may be one that begins early.
  void keep_for_next() {
    early_begin_.keep_for_next(races_.launches_before, ordering_.first_interval(),
                               ordering_.take_intervals());
  }

  [[gnu::always_inline]] void on(const AccessEvent& event) {
    const bool is_global = event.place.space == MemorySpace::global;
    const AccessRecord now = record(event.thread, event.access);
    if (__builtin_expect(event.access.is_volatile, 0)) races_.sites.mark_volatile(now.site());
    shadow_of(event.place)
        .check(event, now, is_global ? ordering_.oldest() : oldest_in_shared(event.access),
               ordering_, report_, first_reads_);
  }

  /// By the read-only path: a cache may hold what was there before the launch wrote it, and no
  /// barrier changes that. So of the order of the two nothing is asked.
  void on(const ReadOnlyLoad& event);
  /// Of shared memory of another block of the cluster.
  void on_remote(const AccessEvent& event);
  /// A piece of one begins: does it see what was stored in its source?
  void on_bulk_copy(const AsyncCopy& copy);

  /// EarlyRead::when and AsyncCopy::when, for what the thread does now.
  std::uint64_t time_stamp(unsigned thread, const Access& access) {
    const AccessRecord now = record(thread, access);
    races_.sites.note_size(now.site(), access.size);  // copies at one place may have several
    return now.bits;
  }
  /// Did that happen before what the thread does now?
  bool is_behind(std::uint64_t when, unsigned thread) const {
    return ordering_.is_ordered(AccessRecord(when), thread);
  }

  /// Does an early read race with a write to what it read? Tells it if so.
  bool is_race(const EarlyRead& read, AccessEvent write);

 private:
  /// Of a block's shared memory.
  struct SharedShadows {
    RaceShadow statics, dynamic;
    bool is_new = true;
  };

  AccessRecord record(unsigned thread, const Access& access) {
    return ordering_.record(thread, races_.sites.number(access.site, access.size));
  }
  /// An atomic asks what its own thread has read, in earlier phases too.
  std::uint32_t oldest_in_shared(const Access& access) const {
    return !access.is_atomic && ordering_.barriers_order_all() ? ordering_.phase_begin()
                                                               : ordering_.block_begin();
  }
  RaceShadow& shadow_of(const Place& place) {
    if (place.space == MemorySpace::global) return races_.device[place.piece];
    SharedShadows& shared = shared_.running();
    return place.piece == kStaticShared ? shared.statics : shared.dynamic;
  }

  const Memory& memory_;
  RaceMemory& races_;
  Ordering ordering_;
  RaceReport report_;
  ClusterLifetime lifetime_;
  EarlyBegin early_begin_;
  FirstReads first_reads_{ordering_, races_.sites, report_};
  PerBlock<SharedShadows> shared_;
  PerBlock<ProxyFences> fences_;
  std::set<std::uint32_t> bulk_sites_;  // of bulk copies: what they have written, others see
};

}  // namespace simulator

// Programmatic dependent launch: a kernel that may begin before the one before it has ended.
//
// In a stream a kernel begins when the one before it has ended. Its first microseconds, in which it
// finds its indices and loads what it alone needs, could lie beside the other's last: so a launch
// with cudaLaunchAttributeProgrammaticStreamSerialization, the secondary, may begin as soon as all
// blocks of the primary, the kernel before it, have called
// cudaTriggerProgrammaticLaunchCompletion() or returned. Then nothing orders the two, and what the
// primary has written is sure to be seen only behind cudaGridDependencySynchronize(): that waits
// until the primary has ended and its memory is written, wherever it has triggered.
//
//     primary    ── writes x ── trigger ─────── writes y ──┐ ended
//     secondary                 └── begins ─── waits ──────┴── reads x and y
//
// Here the primary has always ended. So each access of the secondary by a thread that has not
// waited is looked up in the shadow of races: if the primary's record lies there, and one of the
// two writes, it is told. As with races it does not matter whether the two met in this run.
//
// A thread also comes behind the wait of another one by what orders it behind that thread: a
// barrier of its block, a __syncwarp(). A barrier of more blocks, one in shared memory and an
// atomic are taken for such an order whenever any thread has waited before: that finds less, and
// nothing that is right.
#pragma once

#include <cstdint>
#include <vector>

#include "common/per_block.h"
#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"
#include "races/ordering.h"
#include "races/race_shadow.h"
#include "source/sites.h"

namespace simulator {

/// The launch that was the last to end, and which of its blocks had which interval.
struct LastLaunch {
  LaunchBegin launch = {};
  std::uint32_t first_interval = 0;
  std::vector<Ordering::Interval> intervals;  // from the first on
};

class EarlyBegin {
 public:
  EarlyBegin(const LaunchBegin& launch, const Memory& memory, const LastLaunch& primary,
             const Sites& sites, Findings& findings)
      : launch_(launch), memory_(memory), primary_(primary), sites_(sites), findings_(findings) {}

  /// May a thread not have waited?
  bool is_possible() const { return launch_.may_begin_early && !all_wait_; }

  void on(const BlockBegin& event);
  void on(const BlockResume& event) { have_waited_.resume(event); }
  void on(const PrimaryAwaited& event);
  void on(const BarrierMet&);
  void on(const SyncwarpMet& event);
  void on(const ClusterMet&) { all_wait_ = some_wait_; }
  void on(const GridMet&) { all_wait_ = some_wait_; }
  void on(const Synchronisation& event) { come_behind(event.thread); }
  void on(const SplitPass& event) { come_behind(event.thread); }

  /// Of global memory, with its shadow.
  void check(const AccessEvent& event, const RaceShadow& shadow, std::uint64_t block);

 private:
  void come_behind(unsigned thread) {
    if (is_possible() && some_wait_) have_waited_.running()[thread] = true;
  }
  bool is_of_primary(const AccessRecord& record) const {
    return record.interval() >= primary_.first_interval &&
           record.interval() - primary_.first_interval < primary_.intervals.size();
  }
  void tell(const AccessRecord& earlier, AccessType type, const AccessEvent& event,
            std::uint64_t block);

  const LaunchBegin launch_;
  const Memory& memory_;
  const LastLaunch& primary_;
  const Sites& sites_;
  Findings& findings_;
  PerBlock<std::vector<bool>> have_waited_;  // by thread
  bool some_wait_ = false, all_wait_ = false;
};

}  // namespace simulator

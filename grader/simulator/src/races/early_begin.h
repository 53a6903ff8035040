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
// The primary may have begun early itself, and have triggered before it has waited for the kernel
// before it. Then the secondary may run beside that one, too, and so on. Where one block of the
// primary waits before it triggers, or before it returns, the kernel before it has ended when the
// secondary begins.
//
// A wait is for the kernel before alone: of the two launches the guide makes an edge of a graph,
// by which one sees the other (Use in CUDA Graphs). So if the primary has waited nowhere, it may
// be over before the kernel before it, and who waits for it knows nothing of that one.
//
//     first      ── triggers ───────────────────────── writes x ── ended
//     primary        └── begins, never waits ── ended
//     secondary              └── begins, waits ──┴── reads x
//
// Of the first kernel only what its blocks do when they have triggered is taken to be late, from
// the barrier before that on, for one thread triggers for its block. The rest, and all of a kernel
// that does not trigger, is done when the primary begins. (By the letter the guide promises even
// that to the primary alone, if it waits.)
//
// Before the first launch of a call lies what its caller has put on the stream: no kernel of this
// program, but it may be one that triggers, and it may use each of the caller's tensors. So to a
// first launch that begins early it is a primary of which every access to them is told.
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
#include <string>
#include <unordered_map>
#include <vector>

#include "common/per_block.h"
#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"
#include "races/ordering.h"
#include "races/race_shadow.h"
#include "source/sites.h"

namespace simulator {

/// A launch that may not have ended when the next one begins, and which of its blocks had which
/// interval.
struct LaunchBefore {
  LaunchBegin launch = {};
  std::uint32_t first_interval = 0;
  std::vector<Ordering::Interval> intervals = {};  // from the first on
  bool is_callers = false;                         // whatever the caller has put on the stream
  bool waits = false;                              // a thread of it, for the launch before it
  /// The blocks that have triggered, and the first interval of the phase in which they did.
  std::unordered_map<std::uint64_t, std::uint32_t> triggered = {};
  bool has_ended = false;             // before the present launch begins
  bool has_ended_behind_wait = true;  // before a thread goes on that has waited
};

class EarlyBegin {
 public:
  EarlyBegin(const LaunchBegin& launch, const Memory& memory,
             const std::vector<LaunchBefore>& before, const Sites& sites, Findings& findings)
      : launch_(launch), memory_(memory), before_(before), sites_(sites), findings_(findings) {}

  /// May a launch before this one not have ended when a thread does something?
  bool is_possible() const { return launch_.may_begin_early && (!all_wait_ || !all_have_ended()); }

  void on(const BlockBegin& event);
  void on(const BlockResume& event) { blocks_.resume(event); }
  void on(const BlockEnd&);
  void on(const PrimaryAwaited& event);
  /// With the first interval of the block's phase.
  void on(const DependentsTriggered& event, std::uint64_t block, std::uint32_t phase_begin);
  void on(const BarrierMet&);
  void on(const SyncwarpMet& event);
  void on(const ClusterMet&) { all_wait_ = some_wait_; }
  void on(const GridMet&) { all_wait_ = some_wait_; }
  void on(const Synchronisation& event) { come_behind(event.thread); }
  void on(const SplitPass& event) { come_behind(event.thread); }

  /// Of global memory, with its shadow.
  void check(const AccessEvent& event, const RaceShadow& shadow, std::uint64_t block);

  /// This launch is over, and before the next one: with what it leaves of those before it.
  void keep_for_next(std::vector<LaunchBefore>& before, std::uint32_t first_interval,
                     std::vector<Ordering::Interval> intervals);

 private:
  void come_behind(unsigned thread) {
    if (launch_.may_begin_early && some_wait_) blocks_.running().have_waited[thread] = true;
  }
  /// All before this launch, for who has waited.
  bool all_have_ended() const;
  /// The launch that has made this access, if it is one of those before that may not have ended.
  const LaunchBefore* launch_of(const AccessRecord& record, bool has_waited) const;
  /// Why a launch that is not the last before this one may run beside it.
  std::string chain_from(const LaunchBefore& before, bool has_waited) const;
  void tell(const LaunchBefore& before, const AccessRecord& earlier, AccessType type,
            const AccessEvent& event, std::uint64_t block, bool has_waited);
  void tell_of_callers(const AccessEvent& event, std::uint64_t block);

  struct Block {
    std::vector<bool> have_waited;  // by thread
    bool has_triggered = false;
    bool any_has_waited() const;
  };

  const LaunchBegin launch_;
  const Memory& memory_;
  const std::vector<LaunchBefore>& before_;  // the primary at the end
  const Sites& sites_;
  Findings& findings_;
  PerBlock<Block> blocks_;
  bool some_wait_ = false, all_wait_ = false;
  bool waits_before_next_ = false;  // a block, before it lets the next launch begin
  std::unordered_map<std::uint64_t, std::uint32_t> triggered_;  // as in LaunchBefore
};

}  // namespace simulator

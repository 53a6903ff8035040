// Who waits where, and whether CUDA allows it.
//
// Threads that wait at different barriers meet nonetheless, as they do on a GPU, but the language
// forbids it, and it is reported; so is a thread that returned early, as a warning. In shuffles,
// votes and __syncwarp() the mask must name the caller, and a lane that is read must take part.
// When nobody can go on, deadlock.cpp says who waits for what.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/error_codes.h"
#include "common/per_block.h"
#include "events/events.h"
#include "findings/findings.h"

namespace simulator {

class BarrierChecker {
 public:
  BarrierChecker(const LaunchBegin& launch, Findings& findings)
      : launch_(launch), findings_(findings) {}

  void on(const BlockBegin& event);
  void on(const BlockResume& event) { blocks_.resume(event); }
  void on(const ThreadReturn& event);

  void on(const BarrierWait& event) {
    thread(event.thread).scope = event.scope;
    warp_of(event.thread).at_barrier |= 1u << event.thread % 32;
    thread(event.thread).site = event.site;
    thread(event.thread).barrier = event.barrier;
  }
  void on(const BarrierMet&);

  /// The error that ends the launch if the call is one that no lane may make.
  ErrorCode on(const WarpCall& event) {
    const int width = event.width;
    const bool wrong_width = width < 1 || width > 32 || (width & (width - 1)) != 0;
    if (!(event.mask >> event.thread % 32 & 1) || (is_shuffle(event.operation) && wrong_width)) {
      return refuse(event);
    }
    Thread& caller = thread(event.thread);
    warp_of(event.thread).in_operation |= 1u << event.thread % 32;
    caller.site = event.site;
    caller.operation = event.operation;
    caller.mask = event.mask;
    return kSuccess;
  }
  void on(const SplitWait& event) {
    warp_of(event.thread).at_split |= 1u << event.thread % 32;
    thread(event.thread).site = event.site;
    thread(event.thread).barrier = event.barrier;
    blocks_.running().missing[event.barrier] = event.missing;
  }
  void on(const SplitArrive& event) {
    blocks_.at(event.seat).missing[event.barrier] = event.missing;
  }
  void on(const ActiveMaskCall& event) { thread(event.thread).site = event.site; }
  void on(const ActiveMaskAnswer& event) {
    Thread& asker = thread(event.thread);
    asker.asked_at = asker.site;
    asker.active_mask = event.mask;
  }
  void on(const LanesGoOn& event) {
    Warp& warp = blocks_.running().warps[event.warp];
    warp.in_operation &= ~event.lanes;
    warp.at_split &= ~event.lanes;
  }
  /// That is no error by itself: a tree of shuffles reads past its end in lanes whose results
  /// nobody uses. What it reads shows in the results if it counts.
  void on(const UndefinedSource& event);

  ErrorCode on(const BlockStuck&);
  ErrorCode on(const AllBlocksWait& event);
  void on(const GridMissed& event);
  void on(const ClusterWaited& event) {
    warp_of(event.thread).at_barrier &= ~(1u << event.thread % 32);
  }
  void on(const ClusterMissed& event);

 private:
  struct Warp {  // masks of its lanes
    unsigned at_barrier = 0, in_operation = 0, returned = 0;
    unsigned at_split = 0;  // at a barrier in shared memory
  };

  struct Thread {
    CodeAddress site = 0;     // where it waits, or has waited last
    CodeAddress barrier = 0;  // that it waits at, or has waited at last
    BarrierScope scope = BarrierScope::block;
    // Of its last warp operation:
    WarpOperation operation = WarpOperation::sync;
    unsigned mask = 0;
    // Of its last __activemask():
    CodeAddress asked_at = 0;
    unsigned active_mask = 0;
  };

  struct Block {
    std::uint64_t number = 0;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    bool told_early_return = false;
    std::map<std::uintptr_t, StillMissing> missing;  // at barriers in shared memory
  };

  Thread& thread(unsigned number) { return blocks_.running().threads[number]; }
  Warp& warp_of(unsigned thread) { return blocks_.running().warps[thread / 32]; }
  Party party_of(unsigned thread, CodeAddress site, std::string action) const;
  Party waiting_party(unsigned thread) const;
  int first_in(unsigned Warp::*lanes) const;

  int waits_at(BarrierScope scope) const;
  void check_same_barrier();
  void check_early_return();
  ErrorCode refuse(const WarpCall& call);

  Finding deadlock_in_warp(unsigned thread) const;
  Finding deadlock_at_split_barrier(unsigned thread) const;
  void add_one_elsewhere(Finding& finding, unsigned thread) const;
  int lane_that_differs(unsigned thread) const;
  std::string call_text(unsigned thread) const;

  const LaunchBegin launch_;
  Findings& findings_;
  PerBlock<Block> blocks_;
};

}  // namespace simulator

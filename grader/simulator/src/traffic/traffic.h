// The checker that finds no faults: it counts what the accesses move. Which accesses of a warp are
// one request is found by request_matching.h, what a request costs by memory_request.h, and
// traffic_counter.h adds up.
#pragma once

#include <cstddef>
#include <vector>

#include "common/per_block.h"
#include "events/events.h"
#include "traffic/request_matching.h"
#include "traffic/traffic_counter.h"

namespace simulator {

class Traffic {
 public:
  /// Without `count_requests`, global memory's bytes are counted, and no requests.
  Traffic(const Memory& memory, bool count_requests, std::size_t most_traced)
      : counter_(memory, most_traced), counts_requests_(count_requests) {}

  void on(const BlockBegin& event);
  void on(const BlockResume& event) { warps_.resume(event); }

  [[gnu::always_inline]] void on(const AccessEvent& event) {
    if (event.place.space == MemorySpace::global) {
      counter_.count_bytes(event.access.type, event.access.size);
    }
    if (!counts_requests_ || event.access.is_barrier) return;
    if (__builtin_expect(event.access.alignment != event.access.size, 0)) {
      event.access.alignment < event.access.size ? add_pieces(event) : add_short(event);
    } else {
      warp_of(event.thread).add(event.thread % 32, event.access, event.place.space, counter_);
    }
  }

  void on(const BulkCopyBegun& event);

  /// To shared memory of another block of the cluster.
  void on_remote(const AccessEvent& event) {
    if (!counts_requests_) return;
    warp_of(event.thread).add(event.thread % 32, event.access, MemorySpace::distributed, counter_);
  }

  void on(const BarrierWait& event) { stop(event.thread); }
  void on(const WarpCall& event) { stop(event.thread); }
  void on(const ActiveMaskCall& event) { stop(event.thread); }
  void on(const CatchUp& event) { stop(event.thread); }
  void on(const LanesGoOn& event) {
    if (counts_requests_) warps_.running()[event.warp].go_on(event.lanes);
  }
  void on(const ThreadReturn& event) {
    if (counts_requests_) warp_of(event.thread).leave(event.thread % 32, counter_);
  }

  /// Must the thread wait for the others of its warp, before its next plain access?
  bool is_ahead(unsigned thread) const {
    return counter_.lane_was_ahead() && warps_.running()[thread / 32].is_ahead(thread % 32);
  }

  /// At the launch's end: all but kernel, grid and block, which the caller knows.
  void finish(LaunchTraffic& traffic, std::vector<TracedRequest>& trace) {
    counter_.finish(traffic, trace);
  }

 private:
  [[gnu::noinline]] void add_pieces(AccessEvent event);
  [[gnu::noinline]] void add_short(AccessEvent event);
  WarpRequests& warp_of(unsigned thread) { return warps_.running()[thread / 32]; }
  void stop(unsigned thread) {
    if (counts_requests_) warp_of(thread).stop(thread % 32, counter_);
  }

  TrafficCounter counter_;
  PerBlock<std::vector<WarpRequests>> warps_;
  bool counts_requests_;
};

}  // namespace simulator

#include "traffic/request_matching.h"

#include <algorithm>

#include "traffic/traffic_counter.h"

namespace simulator {

void WarpRequests::begin(std::uint64_t block, int warp, unsigned lanes) {
  block_ = block;
  warp_ = warp;
  live_ = lanes;
  places_in_use_ = last_place_ = 0;
  order_ = 0;
  stopped_ = 0;
  std::fill(made_, made_ + kWarpLanes, 0);
}

void WarpRequests::run_ahead(unsigned lane, TrafficCounter& counter) {
  counter.note_lane_ahead();
  if (made_[lane] <= kMostAhead) return;
  close(counter);
}

WarpRequests::Place& WarpRequests::open_place(const Access& access, MemorySpace space) {
  last_place_ = places_in_use_++;
  if (places_.size() < places_in_use_) places_.emplace_back();
  Place& place = places_[last_place_];
  place.site = access.site;
  place.space = space;
  place.type = access.type;
  place.count = 0;
  std::fill(place.next, place.next + kWarpLanes, 0);
  return place;
}

/// The next one: no lane can be further ahead than by one.
void WarpRequests::open_request(Place& place, unsigned bytes) {
  if (place.requests.size() <= place.count) place.requests.emplace_back();
  MemoryRequest& fresh = place.requests[place.count++];
  fresh.lanes = 0;
  fresh.bytes = bytes;
  fresh.short_lanes = 0;
  fresh.order = order_++;
}

void WarpRequests::stop(unsigned lane, TrafficCounter& counter) {
  stopped_ |= 1u << lane;
  if ((stopped_ & live_) == live_) close(counter);
}

void WarpRequests::leave(unsigned lane, TrafficCounter& counter) {
  live_ &= ~(1u << lane);
  stop(lane, counter);
}

void WarpRequests::close(TrafficCounter& counter) {
  for (std::size_t i = 0; i < places_in_use_; ++i) {
    const Place& place = places_[i];
    counter.count({place.site, place.space, place.type, block_, warp_}, place.requests.data(),
                  place.count);
  }
  places_in_use_ = last_place_ = 0;
  stopped_ = 0;
  std::fill(made_, made_ + kWarpLanes, 0);
}

}  // namespace simulator

#include "traffic/request_matching.h"

#include <algorithm>

#include "traffic/traffic.h"

namespace simulator {

void WarpRequests::begin(int warp) {
  warp_ = warp;
  places_in_use_ = last_place_ = 0;
  order_ = 0;
  stopped_ = 0;
  std::fill(made_, made_ + kWarpLanes, 0);
}

WarpRequests::Place& WarpRequests::place_of(const Access& access, MemorySpace space) {
  // In a loop the places come round and round: the next one is tried first.
  for (std::size_t tried = 0; tried < places_in_use_; ++tried) {
    if (++last_place_ >= places_in_use_) last_place_ = 0;
    Place& place = places_[last_place_];
    if (place.site == access.site && place.space == space) return place;
  }
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

void WarpRequests::add(int lane, const Access& access, MemorySpace space, TrafficCounter& counter) {
  if (made_[lane]++ >= kMostAhead) close(counter);
  Place& place = place_of(access, space);
  const std::uint32_t number = place.next[lane]++;
  if (number >= place.count) {
    if (place.requests.size() <= number) place.requests.emplace_back();
    place.count = number + 1;
    MemoryRequest& fresh = place.requests[number];
    fresh.lanes = 0;
    fresh.bytes = access.size;
    fresh.order = order_++;
  }
  MemoryRequest& request = place.requests[number];
  request.lanes |= 1u << lane;
  request.address[lane] = access.address;
}

void WarpRequests::stop(int lane, unsigned live, TrafficCounter& counter) {
  stopped_ |= 1u << lane;
  if ((stopped_ & live) == live) close(counter);
}

void WarpRequests::close(TrafficCounter& counter) {
  for (std::size_t i = 0; i < places_in_use_; ++i) {
    const Place& place = places_[i];
    counter.count(place.site, place.space, place.type, warp_, place.requests.data(), place.count);
  }
  places_in_use_ = last_place_ = 0;
  stopped_ = 0;
  std::fill(made_, made_ + kWarpLanes, 0);
}

}  // namespace simulator

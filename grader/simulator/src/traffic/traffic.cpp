#include "traffic/traffic.h"

namespace simulator {

void Traffic::on(const BlockBegin& event) {
  std::vector<WarpRequests>& warps = warps_.begin(event);
  if (!counts_requests_) return;
  warps.resize((event.threads + 31) / 32);
  for (unsigned warp = 0; warp < warps.size(); ++warp) {
    warps[warp].begin(event.number, static_cast<int>(warp), low_lanes(event.threads - warp * 32));
  }
}

/// No lanes ask for it. It moves in pieces of 128 bytes from its first byte on, each of which costs
/// the sectors that it touches: from the middle of a sector on, five instead of four. Here eight
/// lanes ask for such a piece.
void Traffic::on(const BulkCopyBegun& event) {
  constexpr unsigned kLaneBytes = 16, kLanes = 8;
  counter_.count_bytes(event.type, static_cast<unsigned>(event.size));
  const RequestOrigin origin = {
      event.site, MemorySpace::global, event.type, event.block, static_cast<int>(event.thread / 32),
      true};
  for (std::size_t done = 0; counts_requests_ && done < event.size;) {
    MemoryRequest request;
    request.bytes = kLaneBytes;
    for (unsigned lane = 0; lane < kLanes && done < event.size; ++lane, done += kLaneBytes) {
      request.lanes |= 1u << lane;
      request.address[lane] = event.address + done;
    }
    counter_.count(origin, &request, 1);
  }
}

/// A GPU's instruction needs an address that is a multiple of its size. So nvcc reads and writes
/// what may be less aligned in pieces: eight halves, without alignas, by eight instructions. Those
/// to shared memory it joins again, for there it knows the address.
void Traffic::add_pieces(AccessEvent event) {
  Access piece = event.access;
  if (event.place.space == MemorySpace::global) piece.size = piece.alignment;
  const std::uintptr_t end = piece.address + event.access.size;
  for (; piece.address < end; piece.address += piece.size) {
    warp_of(event.thread).add(event.thread % 32, piece, event.place.space, counter_);
  }
}

/// An asynchronous copy that reads less than it writes is one request with those that do not.
void Traffic::add_short(AccessEvent event) {
  const unsigned lane = event.thread % 32;
  Access whole = event.access;
  whole.size = whole.alignment;
  MemoryRequest& request = warp_of(event.thread).add(lane, whole, event.place.space, counter_);
  request.short_lanes |= 1u << lane;
  request.unread[lane] = static_cast<std::uint8_t>(whole.size - event.access.size);
}

}  // namespace simulator

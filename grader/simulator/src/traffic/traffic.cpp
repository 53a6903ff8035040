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

}  // namespace simulator

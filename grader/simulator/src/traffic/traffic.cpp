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

}  // namespace simulator

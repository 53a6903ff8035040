#include "traffic/traffic.h"

namespace simulator {

void Traffic::on(const BlockBegin& event) {
  std::vector<WarpRequests>& warps = warps_.begin(event);
  warps.resize((event.threads + 31) / 32);
  for (unsigned warp = 0; warp < warps.size(); ++warp) {
    const unsigned lanes = event.threads - warp * 32;
    warps[warp].begin(event.number, static_cast<int>(warp), lanes >= 32 ? ~0u : (1u << lanes) - 1);
  }
}

}  // namespace simulator

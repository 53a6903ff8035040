// Who waits for whom to stop or return: the block's barrier and the warps' operations.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// Called when a thread has returned: the rest may have waited at the barrier for it alone.
void barrier_thread_returned(Launch& launch);

/// Called when a lane has returned, or waits at the block's barrier: others may have waited for it
/// alone, and __activemask() can be answered when no lane of the warp runs.
void warp_lane_stopped(Launch& launch, Thread& thread);

}  // namespace simulator

// What the lanes of a warp do together: shuffles, votes, matches, reductions, __syncwarp.
//
// A lane that calls one leaves its request with its warp and waits. The request is complete when
// all lanes that its mask names, and that have not returned, ask for the same operation with the
// same mask; the lane that completes it computes all answers. Lanes run one after another in
// between, so a mask that names a lane which never comes is noticed when nobody can go on.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// Called when a lane has returned, or waits at the block's barrier: others may have waited for it
/// alone, and __activemask() can be answered when no lane of the warp runs.
void warp_lane_stopped(Launch& launch, Thread& thread);

}  // namespace simulator

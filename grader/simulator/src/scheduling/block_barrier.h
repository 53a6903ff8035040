// The block-wide barrier: __syncthreads() and its kin. It is complete when every thread of the
// block that has not returned waits at it.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// Called when a thread has returned: the rest may have waited for it alone.
void barrier_thread_returned(Launch& launch);

}  // namespace simulator

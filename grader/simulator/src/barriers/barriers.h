// The block-wide barrier. A barrier is complete when every thread of the block that has not
// returned waits at it. Threads that wait at different lines meet nonetheless, as they do on a GPU,
// but the language forbids it, and it is reported; so is a thread that returned early, as a
// warning.
#pragma once

#include "scheduling/threads.h"

namespace simulator {

/// Called when a thread has returned: the rest may have waited for it alone.
void barrier_thread_returned(Block& block);

}  // namespace simulator

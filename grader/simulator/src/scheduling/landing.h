// How asynchronous copies end: they land where somebody waits for them, or are left behind.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// Tells the checkers that it lands, and moves its bytes.
void land(Launch& launch, const AsyncCopy& copy, bool is_awaited = true);

/// The running thread returns: what it has not waited for is told, and what it has stored by bulk
/// copies lands.
void end_copies_of_thread(Launch& launch);

/// The running block ends: so are the copies at its barriers that nobody has waited for.
void tell_copies_at_barriers(Launch& launch);

}  // namespace simulator

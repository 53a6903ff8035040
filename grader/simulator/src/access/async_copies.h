// Asynchronous copies: what their calls share.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// Those of the running thread.
CopyQueue& copies_of(Launch& launch);

/// Tells the checkers that it lands, and moves its bytes.
void land(Launch& launch, const AsyncCopy& copy);

/// The running thread calls, from there.
void enter(Launch& launch, CodeAddress site);

}  // namespace simulator

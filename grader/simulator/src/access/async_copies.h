// Asynchronous copies: what their calls share.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// One that the running thread begins now, its last `zeros` bytes zero.
AsyncCopy copy_of(Launch& launch, void* to, const void* from, unsigned size, unsigned zeros,
                  CodeAddress site);

bool is_shared(const Place& place);

/// The copy reads global memory.
bool is_from_global(const Launch& launch, const AsyncCopy& copy);

/// From now on it is under way.
void begin(Launch& launch, const AsyncCopy& begun);

/// Those of the running thread.
CopyQueue& copies_of(Launch& launch);

/// The running thread calls, from there.
void enter(Launch& launch, CodeAddress site);

}  // namespace simulator

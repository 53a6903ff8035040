// Barriers in shared memory: what their calls share with those of bulk copies.
#pragma once

#include "scheduling/running.h"

namespace simulator {

/// The barrier, which the running thread uses in this way.
SplitBarrier& use_barrier(Launch& launch, const void* barrier, AccessType type, CodeAddress site);

/// The running thread has arrived, announced bytes or begun a copy: is the phase complete?
void note_arrival(Launch& launch, SplitBarrier& at, const void* barrier);

}  // namespace simulator

// The finding about a race: both parties, and what does not order them.
#pragma once

#include <string>

#include "races/races.h"
#include "scheduling/threads.h"

namespace simulator {

/// The running thread's `access` conflicts with an earlier access of another thread.
void report_race(const AccessRecord& earlier, AccessType earlier_type, const Access& access,
                 MemorySpace space);

/// The running thread writes what another thread of the block has read before, unwritten. Most
/// likely the write is meant to come first.
void report_early_read(const UninitialisedRead& read, const Access& write);

}  // namespace simulator

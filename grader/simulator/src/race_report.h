// The finding about a race: both parties, and what does not order them.
#pragma once

#include "races.h"

namespace simulator {

/// The running thread's `access` conflicts with an earlier access of another thread.
void report_race(const AccessRecord& earlier, AccessType earlier_type, const Access& access,
                 MemorySpace space);

}  // namespace simulator

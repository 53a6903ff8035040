// Atomic operations. The threads of the simulator never run at the same time, so an atomic is a
// load and a store; what matters is what it means to the checkers: atomics do not race with one
// another, and with a fence they order other accesses (races.h).
//
// Volatile accesses are here too. CUDA code waits for a flag with them, so they count as atomic
// loads and stores.
#pragma once

#include "access/access.h"

namespace simulator {

/// A load or a store through a volatile pointer.
void check_volatile(const Access& access);

}  // namespace simulator

// Every load and store of a kernel passes here, before it happens.
//
// The address alone says what memory it is: device memory (a range of its own), static shared
// memory (the thread-local block), dynamic shared memory (a buffer), the thread's own stack, the
// launch's arguments, or the program's globals. Anything else is no memory of the device.
#pragma once

#include "events/events.h"

namespace simulator {

struct Launch;

/// Tells the checkers of one access of the running thread; in host code, checks only that it is not
/// the device's memory. Returns if the access may happen.
void check_access(const Access& access);

/// The same for a load or a store through a volatile pointer. CUDA code waits for a flag with them:
/// a thread that reads the same word again and again lets others run.
void check_volatile(const Access& access);

/// Where an access of the running thread would land. Not for the hot path.
Place place_of(Launch& launch, const Access& access);

}  // namespace simulator

// The requests of a call's launches, as they come from a worker of the simulator.
#pragma once

#include "wire/messages.h"

namespace onepass::verdict {

/// Throws std::out_of_range unless the numbers of the trace fit together and are small enough for
/// the page that draws them: the student's code could have written them.
void require_sound_trace(const wire::Observations& seen);

}  // namespace onepass::verdict

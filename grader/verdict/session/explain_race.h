// What a race of two threads means for the call that it was found in.
#pragma once

#include <optional>
#include <string>

#include "verdict/case.h"
#include "verdict/diagnosis.h"
#include "verdict/worker/finding.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// What was found, with this advice instead of the usual one.
Diagnosis with_advice(const Finding& finding, const std::optional<std::string>& mistake,
                      const std::string& advice);

/// Two threads change one place, or one reads what the other changes.
Diagnosis explain_global_race(const Case& call, const Run& run, const Finding& finding);

/// Was a slot read, and then overwritten before all had read it? Other races are those of one warp,
/// and reads that came before the first write.
bool is_overwriting(const Finding& finding);

/// If the write comes first in the text, either it was to be read, or it is that of the next turn
/// of a loop: there what was read had been written by the same line. A block with several rows has
/// such a loop.
Diagnosis explain_overwriting(const Case& call, const Run& run, const Finding& finding);

/// What to tell of a warning. A barrier is no help between two who write to one element of a
/// tensor at one line: one of them is at the wrong place.
std::string sentence_on_warning(const Case& call, const Finding& finding);

}  // namespace onepass::verdict

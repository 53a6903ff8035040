// Judge: turns what came back from one call into a failure, or finds none. It decides, in this
// order, by how the call ended, what the simulator saw, what memory was touched, and the numbers.
#pragma once

#include <optional>
#include <vector>

#include "verdict/case.h"
#include "verdict/compare.h"
#include "verdict/diagnosis.h"
#include "verdict/session/experiments.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/failure.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// The call did not come to its end, or the simulator found an error in it.
std::optional<Failure> judge_ending(const Case& call, const Run& run, const GoesWell& goes_well);

/// Of a call whose launches were all refused.
std::optional<Failure> judge_without_launches(const Run& run);

/// Something was written, yet no kernel was launched, in a call with something to do. Of a run on
/// the simulator: a GPU does not tell its launches.
std::optional<Failure> judge_launches(const Case& call, const Run& run);

/// An input was modified, or memory between rows or around a buffer was written.
std::optional<Failure> judge_memory(const Case& call, const Run& run, const GoesWell& goes_well);

/// An output that is wrong: where, by how much, in what pattern, and why. `causes`: what was found.
/// `doubt`: a warning of the simulator that can be the reason, telling_warning(). explain_parts:
/// what the right ones tell, of numbers that all were written.
Failure wrong_numbers(const WrongOutput& wrong, const Causes& causes,
                      const std::optional<Finding>& doubt, const GoesWell& goes_well,
                      const std::function<std::optional<Diagnosis>()>& explain_parts);

}  // namespace onepass::verdict

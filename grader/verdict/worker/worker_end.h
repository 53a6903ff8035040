// A worker that gave no answer: whose fault that is.
#pragma once

#include <functional>
#include <string>

#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

Reply failure(Outcome outcome, std::string error);

/// None in time.
Reply no_answer(double seconds);

/// A reply that is none.
Reply nonsense();

/// What is to be run, with what it may do.
process::Program program_of(const std::string& worker, const std::string& device);

/// Asks again, once, if the worker was ended from outside, as by a machine without memory. Both
/// times: then it has to do with what the worker does, in whatever way.
Reply once_more_if_killed(const std::function<Reply()>& ask);

}  // namespace onepass::verdict

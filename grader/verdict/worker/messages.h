// From cases to requests, and from replies to what they say. What comes from a worker is taken
// apart with care: the student's code could have written it.
#pragma once

#include <string>

#include "verdict/case.h"
#include "verdict/worker/worker_client.h"
#include "worker/protocol.h"

namespace onepass::verdict {

/// "run": calls the function once.
worker::Message run_request(const Case& call, Poison poison, double time_limit);

/// "prepare": the same, for `sets` rotating sets of buffers. Inputs with given values are sent and
/// have them at every call; let large ones be hash filled, which makes them new for each call.
worker::Message prepare_request(const Case& call, int sets);

/// The most that the reply to run_request(call) can hold.
worker::Limits reply_limits(const Case& call);

/// Reads the reply to run_request(call). Throws std::exception if it is not one.
Run read_run(const Case& call, Poison poison, const worker::Message& reply);

}  // namespace onepass::verdict

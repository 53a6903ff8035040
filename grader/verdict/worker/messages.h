// From cases to requests, and from replies to what they say. What comes from a worker is taken
// apart with care: the student's code could have written it.
#pragma once

#include <string>

#include "verdict/case.h"
#include "verdict/worker/worker_client.h"
#include "worker/protocol.h"

namespace onepass::verdict {

/// A call for "run" or "prepare", and the blobs that go with it. Prepared inputs with given values
/// are sent and have them at every call; let large ones be hash filled, which makes them new for
/// each call.
struct Request {
  wire::Call call;
  std::vector<worker::Blob> blobs;
};
Request request_of(const Case& call, Poison poison);
/// Another call of the same function and type, at the same time.
void add_beside(Request& request, const Case& beside, Poison poison);

/// For an "ask": the scalars of all these calls, of one function and type, and buffers as long as
/// any of theirs, without contents.
wire::Question question_of(const std::vector<Case>& calls);

worker::Message message_of(const char* operation, Request request);

/// The most that the reply to a run of it can hold.
worker::Limits reply_limits(const Case& call);

/// Throws std::out_of_range unless the numbers of launches and their trace fit together and are
/// small enough to be counted with, and for the page that draws them.
void require_sound_trace(const wire::Observations& seen);

/// Reads the reply to a run of it. Throws std::exception if it is not one. beside: another call
/// that was made at the same time.
Run read_run(const Case& call, Poison poison, const worker::Message& reply,
             const Case* beside = nullptr);

}  // namespace onepass::verdict

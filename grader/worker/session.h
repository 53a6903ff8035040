// Answers the requests of the deciding process (protocol.h), one after the other.
#pragma once

#include <optional>

#include "worker/protocol.h"
#include "worker/timing.h"

namespace onepass::worker {

class Session {
 public:
  explicit Session(Device& device) : device_(device) {}

  /// Always an answer: a request that cannot be carried out is "refused".
  Message answer(const Message& request);

 private:
  Message dispatch(const Message& request);
  Message hello(const Message& request);
  Message run(const Message& request);
  Message prepare(const Message& request);
  Message sample(const Message& request);
  Message fetch(const Message& request);
  Message release();

  Device& device_;
  Message prepared_;  // the request that timing_ is for: its buffers are filled from the blobs
  std::optional<Timing> timing_;
};

}  // namespace onepass::worker

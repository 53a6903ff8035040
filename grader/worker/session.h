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
  Message answer(Message request);

 private:
  Message dispatch(Message& request);
  Message hello(int version);
  Message run(const wire::Call& call, std::vector<Blob>& blobs);
  Message ask(const wire::Question& question);
  Message prepare(const wire::Call& call, const std::vector<Blob>& blobs);
  Message sample(const wire::SampleOrder& order);
  Message fetch(const wire::FetchOrder& order);
  Message release();

  Device& device_;
  std::optional<Timing> timing_;
};

}  // namespace onepass::worker

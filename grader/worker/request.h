// Requests, checked: what is well formed here can be carried out without a second look.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/buffer_spec.h"
#include "worker/protocol.h"

namespace onepass::worker {

/// The request makes no sense; what() says why.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What "run" and "prepare" have in common. Fills point into the message, which has to live on.
struct CallRequest {
  std::string function;
  std::string dtype;
  std::map<std::string, double> scalars;
  std::vector<BufferSpec> buffers;
  double time_limit_s;
  bool lines = false;  // count traffic by line of source
  size_t trace = 0;    // requests of each launch to keep
};

/// Throws BadRequest, or nlohmann::json::exception for a field that is missing or of a wrong type.
CallRequest parse_call(const Message& message);

}  // namespace onepass::worker

// Requests, checked: what is well formed here can be carried out without a second look.
#pragma once

#include <stdexcept>

#include "wire/messages.h"
#include "worker/protocol.h"

namespace onepass::worker {

/// The request makes no sense; what() says why.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws BadRequest if the call makes no sense, or the message has not the blobs that it fills
/// buffers with.
void check_call(const wire::Call& call, const std::vector<Blob>& blobs);

/// Throws BadRequest unless least <= value <= most.
void check_range(const char* name, int64_t value, int64_t least, int64_t most);

}  // namespace onepass::worker

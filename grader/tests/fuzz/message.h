// Messages of the worker's protocol as a fuzzer makes them: JSON, a zero, the bytes of the blobs;
// with a zero in front, all that follows as it is.
#pragma once

#include <string>
#include <string_view>

#include "worker/protocol.h"

namespace onepass::fuzz {

/// What comes of such an input through a pipe; not `done` if it is no message.
worker::Transfer receive(std::string_view input, worker::Message& message,
                         const worker::Limits& limits);

}  // namespace onepass::fuzz

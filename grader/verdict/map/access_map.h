// Access maps: one call of an exercise, with every request of its warps. `onepass map` draws them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "verdict/session/chapter.h"
#include "verdict/session/shapes.h"

namespace onepass::verdict {

/// What is drawn of one call in a worker of the simulator:
///
///   exercise, rows, cols, dtype, call: "fp32, rows 4, ..."
///   buffers: [{name, rows, cols, stride, element_bytes, is_input, is_output}], those of the
///     call; is_input and is_output: does it have to be read, and written? Scratch is neither
///   launches: [LaunchTraffic of wire/json.h], each with its first `most` requests: [TracedRequest]
///   findings: [{kind, mistake, kernel, message, warning, buffer, parties}], the mistake an id of
///     docs/mistakes.md or null, the message with advice; its lines that begin with two spaces are
///     the texts of the parties
///   status: "passed" if the call came to its end (right or wrong), else a word of failure.h, with
///   error: why; location: "file:line" or null
///
/// For a shape that the exercise cannot have the event "unavailable".
nlohmann::json access_map(const Exercise& exercise, const std::string& worker,
                          const RowsByCols& shape, std::uint64_t seed, std::size_t most);

}  // namespace onepass::verdict

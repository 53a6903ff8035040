// Writes down what a worker would be asked, so that the worker can be run by itself: under a
// profiler, for instance, with the file as its descriptor 3.
#pragma once

#include <string>

#include "verdict/session/chapter.h"

namespace onepass::verdict {

/// Appends a "run" request to `file`: the exercise's measured call of that shape, of which no
/// buffer comes back. lines: ask for traffic by line of source, which only a worker of the
/// simulator can answer. Throws std::runtime_error if the file cannot be written.
void record_request(const Exercise& exercise, const Shape& shape, std::uint64_t seed, bool lines,
                    const std::string& file);

}  // namespace onepass::verdict

// The measurements of an exercise: traffic on the simulator, bandwidth on a GPU.
#pragma once

#include <string>
#include <vector>

#include "verdict/session/chapter.h"
#include "verdict/session/events.h"
#include "verdict/session/shapes.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// Commands of the workers that take part. Only `student` must be there.
struct Implementations {
  std::vector<std::string> student;
  std::vector<std::string> naive;
  std::vector<std::string> reference;
};

enum class Measured { traffic, bandwidth };

/// At the exercise's own shapes. Writes an event for each; the first failure is
/// the last event.
void measure(const Exercise& exercise, const Implementations& implementations, Measured what,
             std::uint64_t seed, Events& events);

/// At the user's shapes. Writes an event for each: a shape that cannot be had is skipped, and after
/// a failure the next one is measured.
void measure(const Exercise& exercise, const Implementations& implementations, Measured what,
             std::uint64_t seed, const std::vector<RowsByCols>& shapes, Events& events);

}  // namespace onepass::verdict

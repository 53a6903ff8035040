// The measurements of an exercise: traffic on the simulator, bandwidth on a GPU.
#pragma once

#include <string>
#include <vector>

#include "verdict/session/chapter.h"
#include "verdict/session/events.h"
#include "verdict/session/shapes.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// Paths of the workers that take part. Only `student` must be there.
struct Implementations {
  std::string student;
  std::string naive;
  std::string reference;
};

enum class Measured { traffic, bandwidth };

/// Writes an event for each shape. At the user's shapes: one that cannot be had is skipped, and
/// after a failure the next one is measured. Without any at the exercise's own, where the first
/// failure is the last event.
void measure(const Exercise& exercise, const Implementations& implementations, Measured what,
             std::uint64_t seed, const std::vector<RowsByCols>& shapes, Events& events);

}  // namespace onepass::verdict

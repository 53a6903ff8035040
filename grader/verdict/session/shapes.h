// The shapes that a user asks for: as the driver writes them, and whether an exercise has them.
#pragma once

#include <optional>
#include <string>

#include "verdict/session/chapter.h"

namespace onepass::verdict {

/// The shape that is written "4096x1000xfp16". Throws std::invalid_argument for any other text.
Shape shape_named(const std::string& text);

/// "4096 x 1000 fp16"
std::string name(const Shape& shape);

/// Why the exercise has no such shape, as a sentence; nothing if it has.
std::optional<std::string> objection(const Exercise& exercise, const Shape& shape);

}  // namespace onepass::verdict

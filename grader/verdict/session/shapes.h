// Shapes as tables show them and as a user asks for them: so many rows and columns.
#pragma once

#include <optional>
#include <string>

#include "verdict/session/chapter.h"

namespace onepass::verdict {

struct RowsByCols {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Dtype dtype = Dtype::fp32;
};

/// The one that is written "4096x1000xfp16". Throws std::invalid_argument for any other text.
RowsByCols shape_named(const std::string& text);

/// "4096 x 1000 fp16"
std::string name(const RowsByCols& shape);

RowsByCols shown(const Exercise& exercise, const Shape& shape);

/// Why the exercise has no such shape, as a sentence; nothing if it has.
std::optional<std::string> objection(const Exercise& exercise, const RowsByCols& shape);

/// The exercise's shape that is shown as this one, to which there is no objection.
Shape shape_of(const Exercise& exercise, const RowsByCols& shape);

}  // namespace onepass::verdict

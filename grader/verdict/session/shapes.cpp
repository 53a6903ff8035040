#include "verdict/session/shapes.h"

#include <fmt/format.h>

#include <regex>
#include <stdexcept>
#include <utility>

namespace onepass::verdict {

RowsByCols shape_named(const std::string& text) {
  static const std::regex kShape("([0-9]{1,18})x([0-9]{1,18})x([a-z0-9]+)");
  std::smatch parts;
  if (!std::regex_match(text, parts, kShape)) {
    throw std::invalid_argument(fmt::format("\"{}\" is no shape such as 4096x1000xfp16.", text));
  }
  return {std::stoll(parts[1]), std::stoll(parts[2]), dtype_named(parts[3].str())};
}

std::string name(const RowsByCols& shape) {
  return fmt::format("{} x {} {}", shape.rows, shape.cols, name(shape.dtype));
}

RowsByCols shown(const Exercise& exercise, const Shape& shape) {
  const Measurement& measurement = exercise.measurement;
  return {measurement.rows.in(shape.sizes), measurement.cols.in(shape.sizes), shape.dtype};
}

std::optional<std::string> objection(const Exercise& exercise, const RowsByCols& shape) {
  constexpr std::int64_t kMost = contract::kMostRows;
  if (shape.rows < 1 || shape.cols < 1 || shape.rows > kMost || shape.cols > kMost) {
    return fmt::format("Rows and columns are numbers from 1 to {}.", kMost);
  }
  // The columns of the smallest shape there is: one of the size that a user's number tells.
  const contract::Extent& cols = exercise.measurement.cols;
  contract::Sizes smallest = exercise.measurement.map.sizes;
  smallest[cols.factors.front()] = 1;
  const std::int64_t step = cols.in(smallest);
  if (shape.cols % step != 0) {
    return fmt::format("The columns of {} are a multiple of {} here: take --cols {}.", exercise.id,
                       step, (shape.cols / step + 1) * step);
  }
  return std::nullopt;
}

Shape shape_of(const Exercise& exercise, const RowsByCols& shape) {
  const Measurement& measurement = exercise.measurement;
  contract::Sizes sizes = measurement.map.sizes;
  for (const auto& [extent, asked] :
       {std::pair(measurement.rows, shape.rows), std::pair(measurement.cols, shape.cols)}) {
    sizes.erase(extent.factors.front());
    extent.tell(asked, sizes);
  }
  if (measurement.follow != nullptr) {
    measurement.follow(sizes);
  }
  return {sizes, shape.dtype};
}

}  // namespace onepass::verdict

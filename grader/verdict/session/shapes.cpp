#include "verdict/session/shapes.h"

#include <fmt/format.h>

#include <limits>
#include <regex>
#include <stdexcept>

namespace onepass::verdict {

Shape shape_named(const std::string& text) {
  static const std::regex kShape("([0-9]{1,18})x([0-9]{1,18})x([a-z0-9]+)");
  std::smatch parts;
  if (!std::regex_match(text, parts, kShape)) {
    throw std::invalid_argument(fmt::format("\"{}\" is no shape such as 4096x1000xfp16.", text));
  }
  return {std::stoll(parts[1]), std::stoll(parts[2]), dtype_named(parts[3].str())};
}

std::string name(const Shape& shape) {
  return fmt::format("{} x {} {}", shape.rows, shape.cols, name(shape.dtype));
}

std::optional<std::string> objection(const Exercise& exercise, const Shape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();  // the functions take an int
  if (shape.rows < 1 || shape.cols < 1 || shape.rows > kMost || shape.cols > kMost) {
    return fmt::format("Rows and columns are numbers from 1 to {}.", kMost);
  }
  const std::int64_t step = exercise.measurement.cols_step;
  if (shape.cols % step != 0) {
    return fmt::format("The columns of {} are a multiple of {} here: take --cols {}.", exercise.id,
                       step, (shape.cols / step + 1) * step);
  }
  return std::nullopt;
}

}  // namespace onepass::verdict

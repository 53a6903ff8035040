// The inputs that chapter 2's checks share.
#include "chapters/layernorm/shapes.h"

#include <fmt/format.h>

namespace onepass::layernorm {

verdict::Random numbers(const char* tensor, Dtype dtype, std::int64_t rows, std::int64_t cols) {
  return verdict::session().random().stream(
      fmt::format("{} {} {} {}", tensor, verdict::name(dtype), rows, cols));
}

Matrix random_tensor(const char* tensor, Dtype dtype, std::int64_t rows, std::int64_t cols,
                     double mean, double deviation) {
  return numbers(tensor, dtype, rows, cols).normal_matrix(dtype, rows, cols, mean, deviation);
}

Matrix random_weight(Dtype dtype, std::int64_t cols) {
  return numbers("weight", dtype, 1, cols).uniform_matrix(dtype, 1, cols, 0.5, 1.5);
}

Matrix random_bias(Dtype dtype, std::int64_t cols) {
  return numbers("bias", dtype, 1, cols).uniform_matrix(dtype, 1, cols, -2.0, -1.0);
}

std::vector<std::int64_t> boundary_columns(std::int64_t cols) {
  std::vector<std::int64_t> columns;
  for (std::int64_t col : {std::int64_t{0}, std::int64_t{7}, std::int64_t{8}, std::int64_t{31},
                           std::int64_t{32}, std::int64_t{255}, std::int64_t{256},
                           std::int64_t{1023}, std::int64_t{1024}, cols - 2, cols - 1}) {
    if (col < cols) {
      columns.push_back(col);
    }
  }
  return columns;
}

Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean) {
  return gradients(random_tensor("dy", dtype, rows, cols, 0.3),
                   random_tensor("x", dtype, rows, cols, mean, 2.0), random_weight(dtype, cols));
}

DrawnShape drawn_shape(std::uint64_t number) {
  const verdict::Random draw = verdict::session().random().stream(fmt::format("shape {}", number));
  DrawnShape shape;
  shape.dtype = kEveryDtype[static_cast<std::size_t>(draw.integer(0, 0, 2))];
  shape.rows = draw.integer(1, 1, 9);
  shape.cols = draw.integer(2, 1, 3000);
  shape.one = {shape.cols + draw.integer(3, 0, 40), draw.integer(4, 0, 9)};
  shape.two = {shape.cols + draw.integer(5, 0, 40), draw.integer(6, 0, 9)};
  shape.three = {shape.cols + draw.integer(7, 0, 40), draw.integer(8, 0, 9)};
  return shape;
}

}  // namespace onepass::layernorm

// Grid: a matrix of numbers to compute with. Field: one of fp64 numbers. References, bounds and
// oracles are fields; what the student's code reads and writes is a Matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onepass::verdict {

template <typename Number>
struct Grid {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<Number> values;  // [rows, cols]

  Grid() = default;
  Grid(std::int64_t rows_, std::int64_t cols_, Number value = 0)
      : rows(rows_), cols(cols_), values(static_cast<std::size_t>(rows_ * cols_), value) {}

  Number& operator()(std::int64_t row, std::int64_t col) {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  Number operator()(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

using Field = Grid<double>;

/// value(row, col) for each element.
template <typename Value>
Field field_of(std::int64_t rows, std::int64_t cols, Value value) {
  Field field(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      field(row, col) = value(row, col);
    }
  }
  return field;
}

}  // namespace onepass::verdict

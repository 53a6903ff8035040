// Field: a matrix of fp64 numbers. References, bounds and oracles are fields; what the student's
// code reads and writes is a Matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onepass::verdict {

struct Field {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;  // [rows, cols]

  Field() = default;
  Field(std::int64_t rows_, std::int64_t cols_, double value = 0.0)
      : rows(rows_), cols(cols_), values(static_cast<std::size_t>(rows_ * cols_), value) {}

  double& operator()(std::int64_t row, std::int64_t col) {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  double operator()(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

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

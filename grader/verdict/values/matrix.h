// Matrix: rows * cols elements of one dtype, as bits, dense. A vector of one element a row ([rows])
// is rows x 1; a vector shared by all rows, such as a weight, is 1 x cols.
//
// Strides and alignment belong to a buffer in device memory (case.h), not to the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::verdict {

class Matrix {
 public:
  Matrix() = default;
  /// All bytes zero, which is the value 0 in every dtype.
  Matrix(Dtype dtype, std::int64_t rows, std::int64_t cols);
  /// `bytes` must be rows * cols * size_of(dtype) long; throws std::invalid_argument otherwise.
  Matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, std::vector<std::byte> bytes);

  Dtype dtype() const { return dtype_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t size() const { return rows_ * cols_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  const std::byte* element(std::int64_t row, std::int64_t col) const;

  double get(std::int64_t row, std::int64_t col) const;
  /// Rounds to the dtype: nearest, ties to even, once.
  void set(std::int64_t row, std::int64_t col, double value);

  /// All elements as fp64.
  Field field() const;
  /// `field` rounded to `dtype`.
  static Matrix rounded(Dtype dtype, const Field& field);

 private:
  std::size_t position(std::int64_t row, std::int64_t col) const;

  Dtype dtype_ = Dtype::fp32;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::vector<std::byte> bytes_;
};

/// value(row, col) for each element, rounded.
template <typename Value>
Matrix matrix_of(Dtype dtype, std::int64_t rows, std::int64_t cols, Value value) {
  Matrix matrix(dtype, rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      matrix.set(row, col, value(row, col));
    }
  }
  return matrix;
}

}  // namespace onepass::verdict

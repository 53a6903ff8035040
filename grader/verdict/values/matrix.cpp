#include "verdict/values/matrix.h"

#include <stdexcept>
#include <utility>

namespace onepass::verdict {

Matrix::Matrix(Dtype dtype, std::int64_t rows, std::int64_t cols)
    : Matrix(dtype, rows, cols,
             std::vector<std::byte>(static_cast<std::size_t>(rows * cols) * size_of(dtype))) {}

Matrix::Matrix(Dtype dtype, std::int64_t rows, std::int64_t cols, std::vector<std::byte> bytes)
    : dtype_(dtype), rows_(rows), cols_(cols), bytes_(std::move(bytes)) {
  if (bytes_.size() != static_cast<std::size_t>(rows * cols) * size_of(dtype)) {
    throw std::invalid_argument("a matrix needs rows * cols elements");
  }
}

std::size_t Matrix::position(std::int64_t row, std::int64_t col) const {
  return static_cast<std::size_t>(row * cols_ + col) * size_of(dtype_);
}

const std::byte* Matrix::element(std::int64_t row, std::int64_t col) const {
  return bytes_.data() + position(row, col);
}

double Matrix::get(std::int64_t row, std::int64_t col) const {
  return decode(dtype_, element(row, col));
}

void Matrix::set(std::int64_t row, std::int64_t col, double value) {
  encode(dtype_, value, bytes_.data() + position(row, col));
}

Field Matrix::field() const {
  Field result(rows_, cols_);
  const std::byte* bits = bytes_.data();
  for (double& value : result.values) {
    value = decode(dtype_, bits);
    bits += size_of(dtype_);
  }
  return result;
}

Matrix Matrix::rounded(Dtype dtype, const Field& field) {
  return matrix_of(dtype, field.rows, field.cols, field);
}

}  // namespace onepass::verdict

// Tensors as a kernel sees them that reads or sums them wrongly.
#include "chapters/common/misread.h"

#include <limits>

namespace onepass::common {

using verdict::Field;

std::optional<Field> with_stride(const verdict::Case& call, const char* buffer,
                                 std::int64_t stride) {
  const Field right = call.values(buffer).field();
  const std::int64_t right_stride = call.buffer(buffer).stride();
  const std::int64_t last = (right.rows - 1) * stride + right.cols - 1;
  if (stride == right_stride || right.rows < 2 || last >= right.rows * right_stride) {
    return std::nullopt;
  }
  // Between the rows of an input the worker leaves NaN.
  Field wrong(right.rows, right.cols, std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t row = 0; row < right.rows; ++row) {
    for (std::int64_t col = 0; col < right.cols; ++col) {
      const std::int64_t position = row * stride + col;
      if (position % right_stride < right.cols) {
        wrong(row, col) = right(position / right_stride, position % right_stride);
      }
    }
  }
  return wrong;
}

std::optional<Field> transposed(const Field& field) {
  if (field.rows != field.cols || field.rows < 2) {
    return std::nullopt;
  }
  Field result(field.rows, field.cols);
  for (std::int64_t row = 0; row < field.rows; ++row) {
    for (std::int64_t col = 0; col < field.cols; ++col) {
      result(row, col) = field(col, row);
    }
  }
  return result;
}

Field only(Field field, const std::function<bool(std::int64_t row, std::int64_t col)>& counted) {
  for (std::int64_t row = 0; row < field.rows; ++row) {
    for (std::int64_t col = 0; col < field.cols; ++col) {
      field(row, col) = counted(row, col) ? field(row, col) : 0.0;
    }
  }
  return field;
}

Field map(Field field, const std::function<double(double)>& f) {
  for (double& value : field.values) {
    value = f(value);
  }
  return field;
}

Field rounded(verdict::Dtype dtype, const Field& field) {
  return map(field, [dtype](double value) { return verdict::round_to(dtype, value); });
}

}  // namespace onepass::common

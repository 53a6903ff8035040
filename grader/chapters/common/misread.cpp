// Tensors as a kernel sees them that reads or sums them wrongly.
#include "chapters/common/misread.h"

#include <limits>
#include <vector>

namespace onepass::common {

using verdict::Field;
using verdict::field_of;

std::optional<Field> with_stride(const verdict::Case& call, const char* buffer,
                                 std::int64_t stride) {
  const Field right = call.values(buffer).field();
  const std::int64_t right_stride = call.buffer(buffer).stride();
  const std::int64_t last = (right.rows - 1) * stride + right.cols - 1;
  if (stride == right_stride || right.rows < 2 || last >= right.rows * right_stride) {
    return std::nullopt;
  }
  // Between the rows of an input the worker leaves NaN.
  return field_of(right.rows, right.cols, [&](std::int64_t row, std::int64_t col) {
    const std::int64_t position = row * stride + col;
    return position % right_stride < right.cols
               ? right(position / right_stride, position % right_stride)
               : std::numeric_limits<double>::quiet_NaN();
  });
}

std::optional<Field> transposed(const Field& field) {
  if (field.rows != field.cols || field.rows < 2) {
    return std::nullopt;
  }
  return field_of(field.rows, field.cols,
                  [&](std::int64_t row, std::int64_t col) { return field(col, row); });
}

std::optional<Field> tail_from_front(const Field& parameter, std::int64_t vector) {
  const std::int64_t whole = parameter.cols / vector * vector;
  if (whole == 0 || whole == parameter.cols) {
    return std::nullopt;
  }
  return verdict::field_of(parameter.rows, parameter.cols, [&](auto row, auto col) {
    return parameter(row, col < whole ? col : col - whole);
  });
}

std::optional<Field> again_from_front(const Field& parameter, std::int64_t threads) {
  if (parameter.cols <= threads) {
    return std::nullopt;
  }
  return verdict::field_of(parameter.rows, parameter.cols,
                           [&](auto row, auto col) { return parameter(row, col % threads); });
}

double poison(verdict::Dtype dtype) {
  const std::vector<std::byte> bytes(4, static_cast<std::byte>(verdict::Poison::finite));
  return verdict::decode(dtype, bytes.data());
}

}  // namespace onepass::common

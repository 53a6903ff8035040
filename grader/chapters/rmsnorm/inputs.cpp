// Wrong ways to read the inputs.
#include "chapters/rmsnorm/inputs.h"

#include <array>

namespace onepass::rmsnorm {

using verdict::Case;
using verdict::Dtype;
using verdict::Field;

double padding_value(Dtype dtype) {
  std::array<std::byte, 8> bytes;
  bytes.fill(std::byte{0xA5});  // the worker's filling, see worker/protocol.h
  return verdict::decode(dtype, bytes.data());
}

std::optional<Field> x_with_stride(const Case& call, std::int64_t stride) {
  const Field x = call.values("x").field();
  const std::int64_t right_stride = call.buffer("x").stride();
  const std::int64_t last = (x.rows - 1) * stride + x.cols - 1;  // the last element that is read
  if (stride == right_stride || x.rows < 2 || last >= x.rows * right_stride) {
    return std::nullopt;
  }
  const double padding = padding_value(call.dtype());
  Field wrong(x.rows, x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      const std::int64_t position = row * stride + col;
      const std::int64_t right_col = position % right_stride;
      wrong(row, col) = right_col < x.cols ? x(position / right_stride, right_col) : padding;
    }
  }
  return wrong;
}

std::optional<Field> x_transposed(const Case& call) {
  const Field x = call.values("x").field();
  if (x.rows != x.cols || x.rows < 2) {
    return std::nullopt;
  }
  Field wrong(x.rows, x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      wrong(row, col) = x(col, row);
    }
  }
  return wrong;
}

}  // namespace onepass::rmsnorm

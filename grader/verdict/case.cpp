#include "verdict/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "worker/hash_fill.h"

namespace onepass::verdict {
namespace {

Buffer buffer_of(const std::string& name, Role role, Dtype dtype, std::int64_t rows,
                 std::int64_t cols, Layout layout) {
  Buffer buffer;
  buffer.name = name;
  buffer.role = role;
  buffer.dtype = dtype;
  buffer.rows = rows;
  buffer.cols = cols;
  buffer.layout = layout;
  return buffer;
}

Buffer buffer_of(const std::string& name, Role role, Matrix values, Layout layout) {
  Buffer buffer = buffer_of(name, role, values.dtype(), values.rows(), values.cols(), layout);
  buffer.values = std::move(values);
  return buffer;
}

Matrix hash_filled(const Buffer& buffer) {
  Matrix result(buffer.dtype, buffer.rows, buffer.cols);
  for (std::int64_t row = 0; row < buffer.rows; ++row) {
    for (std::int64_t col = 0; col < buffer.cols; ++col) {
      const auto index = static_cast<std::uint64_t>(row * buffer.cols + col);
      result.set(row, col,
                 worker::hash_value(buffer.hash->seed, index, static_cast<float>(buffer.hash->mean),
                                    static_cast<float>(buffer.hash->scale)));
    }
  }
  return result;
}

}  // namespace

Case& Case::add(Buffer buffer) {
  if (buffer.stride() < buffer.cols) {
    throw std::logic_error("the stride of " + buffer.name + " is less than its columns");
  }
  buffers_.push_back(std::move(buffer));
  return *this;
}

Case& Case::integer(const std::string& name, std::int64_t value) {
  scalars_.emplace_back(name, value);
  return *this;
}

Case& Case::real(const std::string& name, double value) {
  scalars_.emplace_back(name, value);
  return *this;
}

Case& Case::input(const std::string& name, Matrix values, Layout layout) {
  return add(buffer_of(name, Role::input, std::move(values), layout));
}

Case& Case::input(const std::string& name, Dtype dtype, std::int64_t rows, std::int64_t cols,
                  HashFill hash, Layout layout) {
  Buffer buffer = buffer_of(name, Role::input, dtype, rows, cols, layout);
  buffer.hash = hash;
  return add(std::move(buffer));
}

Case& Case::in_place(const std::string& name, Matrix values, Layout layout) {
  return add(buffer_of(name, Role::in_place, std::move(values), layout));
}

Case& Case::in_place(const std::string& name, Dtype dtype, std::int64_t rows, std::int64_t cols,
                     HashFill hash, Layout layout) {
  Buffer buffer = buffer_of(name, Role::in_place, dtype, rows, cols, layout);
  buffer.hash = hash;
  return add(std::move(buffer));
}

Case& Case::output(const std::string& name, Dtype dtype, std::int64_t rows, std::int64_t cols,
                   Layout layout) {
  return add(buffer_of(name, Role::output, dtype, rows, cols, layout));
}

Case& Case::null(const std::string& name, Role role, Dtype dtype, const std::string& over) {
  Buffer buffer = buffer_of(name, role, dtype, 0, 0, {});
  buffer.null = true;
  buffer.over = over;
  return add(std::move(buffer));
}

bool Case::has_scalar(const std::string& name) const {
  return std::any_of(scalars_.begin(), scalars_.end(),
                     [&](const auto& scalar) { return scalar.first == name; });
}

std::int64_t Case::integer(const std::string& name) const {
  return static_cast<std::int64_t>(real(name));
}

double Case::real(const std::string& name) const {
  for (const auto& [scalar, value] : scalars_) {
    if (scalar == name) {
      return std::visit([](auto number) { return static_cast<double>(number); }, value);
    }
  }
  throw std::out_of_range("the case has no scalar " + name);
}

const Buffer& Case::buffer(const std::string& name) const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.name == name) {
      return buffer;
    }
  }
  throw std::out_of_range("the case has no buffer " + name);
}

const Buffer* Case::find(const std::string& name) const {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const Buffer& buffer) { return buffer.name == name; });
  return found == buffers_.end() || found->null ? nullptr : &*found;
}

const std::string& Case::place_of(const std::string& output) const {
  const Buffer& own = buffer(output);
  return own.over.empty() ? own.name : own.over;
}

bool Case::is_strided(const std::string& name) const {
  const Buffer* buffer = find(name);
  return buffer != nullptr && buffer->stride() > buffer->cols;
}

Matrix Case::values(const std::string& name) const {
  const Buffer& wanted = buffer(name);
  return wanted.hash ? hash_filled(wanted) : wanted.values;
}

std::int64_t Case::span_bytes() const {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers_) {
    if (!buffer.null && buffer.rows > 0) {
      const std::int64_t elements = (buffer.rows - 1) * buffer.stride() + buffer.cols;
      bytes += elements * static_cast<std::int64_t>(size_of(buffer.dtype));
    }
  }
  return bytes;
}

std::string Case::describe() const {
  std::string text = dtype_ ? name(*dtype_) : function_;
  for (const auto& [scalar, value] : scalars_) {
    // Reals are often fp32 values: six digits say 1e-06 where all of them say 9.99999997e-07.
    text += std::holds_alternative<double>(value)
                ? fmt::format(", {} {:g}", scalar, std::get<double>(value))
                : fmt::format(", {} {}", scalar, std::get<std::int64_t>(value));
  }
  return text;
}

}  // namespace onepass::verdict

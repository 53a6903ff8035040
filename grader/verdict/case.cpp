#include "verdict/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "worker/hash_fill.h"

namespace onepass::verdict {

namespace {

/// ", x and y 2 bytes past a multiple of 16": of tensors that begin on no such boundary.
std::string unaligned_in_words(const std::vector<Buffer>& buffers) {
  std::map<std::int64_t, std::vector<std::string>> off;  // by how many bytes
  for (const Buffer& buffer : buffers) {
    const auto bytes = buffer.layout.offset * static_cast<std::int64_t>(size_of(buffer.dtype)) % 16;
    if (bytes != 0 && !buffer.null && buffer.layout.in.empty()) {
      off[bytes].push_back(buffer.name);
    }
  }
  std::string text;
  for (const auto& [bytes, names] : off) {
    text += fmt::format(", {} {} bytes past a multiple of 16", fmt::join(names, " and "), bytes);
  }
  return text;
}

}  // namespace

double Buffer::before(std::int64_t row, std::int64_t col) const {
  if (!hash) {
    return values.get(row, col);
  }
  const float value =
      worker::hash_value(hash->seed, static_cast<std::uint64_t>(row * cols + col),
                         static_cast<float>(hash->mean), static_cast<float>(hash->scale));
  return round_to(dtype, value);
}

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

Case Case::with(std::vector<Buffer> buffers) const {
  Case other = *this;
  other.buffers_ = std::move(buffers);
  other.computed_.clear();
  return other;
}

Case Case::with(const std::string& integer, std::int64_t value) const {
  Case other = *this;
  for (auto& [name, scalar] : other.scalars_) {
    if (name == integer) {
      scalar = value;
    }
  }
  return other;
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

const Matrix& Case::values(const std::string& name) const {
  const Buffer& wanted = buffer(name);
  if (!wanted.hash) {
    return wanted.values;
  }
  std::shared_ptr<const Matrix>& computed = computed_[name];
  if (computed == nullptr) {
    computed = std::make_shared<Matrix>(
        matrix_of(wanted.dtype, wanted.rows, wanted.cols,
                  [&](auto row, auto col) { return wanted.before(row, col); }));
  }
  return *computed;
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
  for (const Buffer& buffer : buffers_) {
    text += !buffer.over.empty() ? fmt::format(", {} over {}", buffer.name, buffer.over)
            : buffer.null        ? fmt::format(", {} null", buffer.name)
                                 : "";
    text += buffer.layout.in.empty() ? ""
                                     : fmt::format(", {} = {} + {}", buffer.name, buffer.layout.in,
                                                   buffer.layout.offset);
  }
  return text + unaligned_in_words(buffers_);
}

Case made_finite(const Case& call) {
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    for (std::int64_t row = 0; row < buffer.values.rows(); ++row) {
      for (std::int64_t col = 0; col < buffer.values.cols(); ++col) {
        if (!std::isfinite(buffer.values.get(row, col))) {
          buffer.values.set(row, col, 0.5);
        }
      }
    }
  }
  return call.with(std::move(buffers));
}

}  // namespace onepass::verdict

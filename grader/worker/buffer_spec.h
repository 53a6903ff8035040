// A buffer as a request describes it (protocol.h explains the fields).
//
// C++17 without JSON: the devices, one of them compiled by nvcc, need it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace onepass::worker {

enum class Dtype { fp32, fp16, bf16 };

struct HashFill {
  uint64_t seed = 0;
  float mean = 0;
  float scale = 1;
  Dtype dtype = Dtype::fp32;
};

/// The dense elements (owned by the request), one byte everywhere, or numbers made on the device.
using Fill = std::variant<const std::vector<std::byte>*, unsigned char, HashFill>;

struct BufferSpec {
  std::string name;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;         // elements, at least cols
  int64_t element_bytes = 1;  // 1 to 16
  int64_t offset = 0;         // elements past a 256-byte aligned address
  bool is_output = false;
  bool is_null = false;
  std::string over;  // a null one's: the function gets the address of this buffer instead
  bool send_back = true;
  unsigned char padding = 0;
  Fill fill = static_cast<unsigned char>(0);

  /// From the first byte of the first row to the last byte of the last row.
  size_t span_bytes() const {
    return rows == 0 ? 0 : static_cast<size_t>(((rows - 1) * stride + cols) * element_bytes);
  }
  size_t row_bytes() const { return static_cast<size_t>(cols * element_bytes); }
  size_t pitch_bytes() const { return static_cast<size_t>(stride * element_bytes); }
};

}  // namespace onepass::worker

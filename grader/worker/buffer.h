// A buffer in device memory: filled as a request says, read back, and checked for bytes that
// changed where nobody had any business: in the padding between rows and in the guard bands.
#pragma once

#include <optional>
#include <vector>

#include "worker/device.h"

namespace onepass::worker {

/// A stray write into the padding: the first one found.
struct PaddingChange {
  int64_t row;
  int64_t col;  // cols or more
};

/// A stray write outside of the buffer: the one nearest to it.
struct GuardChange {
  bool before;
  int64_t elements;  // 1: the element right before the first, or right after the last
};

class Buffer {
 public:
  /// Allocates and fills everything: elements, padding, guard bands. Throws OutOfMemory.
  Buffer(Device& device, const BufferSpec& spec);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const BufferSpec& spec() const { return spec_; }
  void* address() const { return spec_.is_null ? nullptr : allocation_.first; }

  /// Fills the elements, and nothing else, with new contents for a timed call.
  void refill(uint64_t generation);

  /// Rows first to first + count - 1, dense.
  std::vector<std::byte> read(int64_t first, int64_t count) const;

  std::optional<PaddingChange> padding_change() const;
  std::optional<GuardChange> guard_change() const;

 private:
  Area elements() const;
  Area padding() const;
  Area guard_before() const;
  Area guard_after() const;
  unsigned char guard_byte() const;
  void fill_elements(const Fill& fill);

  Device& device_;
  BufferSpec spec_;
  Allocation allocation_;
};

}  // namespace onepass::worker

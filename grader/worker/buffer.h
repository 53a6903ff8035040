// A buffer in device memory: filled as a request says, read back, and checked for bytes that
// changed where nobody had any business: in the padding between rows and in the guard bands.
#pragma once

#include <vector>

#include "worker/device.h"
#include "worker/protocol.h"

namespace onepass::worker {

class Buffer {
 public:
  /// Allocates and fills everything: elements, padding, guard bands. The blobs have to live on.
  /// Throws OutOfMemory.
  Buffer(Device& device, const BufferSpec& spec, const std::vector<Blob>& blobs);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const BufferSpec& spec() const { return spec_; }
  void* address() const { return spec_.is_null ? nullptr : allocation_.first; }

  /// Fills the elements, and nothing else, with new contents for a timed call.
  void refill(uint64_t generation);

  /// Rows first to first + count - 1, dense.
  std::vector<std::byte> read(int64_t first, int64_t count) const;

  /// The stray writes that there were, but for those of the elements.
  wire::SeenBuffer strays() const;

 private:
  Area elements() const;
  Area padding() const;
  Area guard_before() const;
  Area guard_after() const;
  unsigned char guard_byte() const;
  void fill_elements(const HashFill& hash);
  void find_in_padding(wire::SeenBuffer& seen) const;
  void find_in_guards(wire::SeenBuffer& seen) const;

  Device& device_;
  const std::vector<Blob>& blobs_;
  BufferSpec spec_;
  Allocation allocation_;
};

}  // namespace onepass::worker

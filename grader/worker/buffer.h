// A buffer in device memory: filled as a request says, read back, and checked for bytes that
// changed where nobody had any business: in the gaps between rows and in the guard bands.
//
// Several buffers may be views of one matrix: they lie in one piece of memory, the rows of one
// between those of another. A gap then ends where the next row of any of them begins.
#pragma once

#include <memory>
#include <vector>

#include "worker/device.h"
#include "worker/protocol.h"

namespace onepass::worker {

class Buffer {
 public:
  /// Allocates and fills everything: elements, gaps, guard bands. The blobs have to live on.
  /// matrix: all that lie in the same memory, the first of which is made first: `host`, unless it
  /// is this one. Not to be filled, it has an address, and no more. Throws OutOfMemory.
  Buffer(Device& device, const BufferSpec& spec, const std::vector<Blob>& blobs,
         const std::vector<BufferSpec>& matrix, const Buffer* host, bool filled);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const BufferSpec& spec() const { return spec_; }
  void* address() const { return first_; }

  /// Fills the elements, and nothing else, with new contents for a timed call.
  void refill(uint64_t generation);

  /// Rows first to first + count - 1, dense.
  std::vector<std::byte> read(int64_t first, int64_t count) const;

  /// The stray writes that there were, but for those of the elements.
  wire::SeenBuffer strays() const;

 private:
  /// Nobody's bytes: what follows the end of each row from `row` on, `area.rows` of them.
  struct Gap {
    int64_t row;
    Area area;
  };

  Area elements() const;
  void find_gaps(const std::vector<BufferSpec>& matrix, const Allocation& all);
  Area guard_before() const;
  unsigned char guard_byte() const;
  void fill_elements(const HashFill& hash);
  bool find_in(const Gap& gap, wire::SeenBuffer& seen) const;
  void find_in_guard_before(wire::SeenBuffer& seen) const;

  Device& device_;
  const std::vector<Blob>& blobs_;
  BufferSpec spec_;
  std::byte* first_ = nullptr;  // its own first byte
  Allocation allocation_;       // of the whole matrix; of its first buffer only
  std::vector<Gap> gaps_;
};

using Buffers = std::vector<std::unique_ptr<Buffer>>;

/// All of a call.
Buffers make_buffers(Device& device, const std::vector<BufferSpec>& specs,
                     const std::vector<Blob>& blobs, bool filled = true);

}  // namespace onepass::worker

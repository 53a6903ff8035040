// Filling, reading and checking of buffers, the same for every device.
#include "worker/buffer.h"

#include <algorithm>

#include "worker/hash_fill.h"

namespace onepass::worker {
namespace {

// What lies around a buffer and between its rows. A kernel that reads past an input gets NaN, in
// every type, and one that copies what it read there onto the bytes past an output changes them,
// since the two differ.
constexpr unsigned char kInputGuard = 0xFF;
constexpr unsigned char kOutputGuard = 0xA5;
// A larger gap between rows would cost more time than the check is worth.
constexpr size_t kLargestGap = size_t{1} << 20;
constexpr size_t kSlabBytes = size_t{16} << 20;

auto changed_from(unsigned char expected) {
  return [expected](std::byte byte) { return byte != std::byte{expected}; };
}

std::vector<std::byte> download(Device& device, const Area& area) {
  std::vector<std::byte> bytes(area.width * area.rows);
  device.download(bytes.data(), area);
  return bytes;
}

}  // namespace

Buffer::Buffer(Device& device, const BufferSpec& spec, const std::vector<Blob>& blobs)
    : device_(device), blobs_(blobs), spec_(spec) {
  if (spec_.is_null) {
    return;
  }
  allocation_ = device_.allocate(spec_);
  try {
    device_.set(guard_before(), guard_byte());
    device_.set(guard_after(), guard_byte());
    device_.set(padding(), guard_byte());
    fill_elements(spec_.hash);
  } catch (...) {
    device_.release(allocation_);
    throw;
  }
}

Buffer::~Buffer() {
  device_.release(allocation_);
}

Area Buffer::elements() const {
  return {allocation_.first, spec_.row_bytes(), static_cast<size_t>(spec_.rows),
          spec_.pitch_bytes()};
}

/// The gaps between the rows; no rows if there are none, or if they are too large to look at.
Area Buffer::padding() const {
  const size_t gap = spec_.pitch_bytes() - spec_.row_bytes();
  const bool none = spec_.rows < 2 || gap == 0 || gap > kLargestGap;
  return {allocation_.first + (none ? 0 : spec_.row_bytes()), gap,
          none ? 0 : static_cast<size_t>(spec_.rows - 1), spec_.pitch_bytes()};
}

Area Buffer::guard_before() const {
  const size_t bytes = allocation_.guard_before;
  return {allocation_.first - bytes, bytes, bytes == 0 ? size_t{0} : size_t{1}, bytes};
}

Area Buffer::guard_after() const {
  const size_t bytes = allocation_.guard_after;
  return {allocation_.first + spec_.span_bytes(), bytes, bytes == 0 ? size_t{0} : size_t{1}, bytes};
}

unsigned char Buffer::guard_byte() const {
  return spec_.is_output ? kOutputGuard : kInputGuard;
}

void Buffer::fill_elements(const HashFill& hash) {
  const Area area = elements();
  switch (spec_.fill) {
    case wire::Fill::blob:
      return device_.upload(area, blobs_[spec_.blob].data());
    case wire::Fill::hash:
      return device_.hash_fill(area, spec_.dtype, hash);
    case wire::Fill::byte:
      device_.set(area, spec_.byte);
      if (!spec_.is_output) {
        device_.mark_initialised(area);
      }
  }
}

void Buffer::refill(uint64_t generation) {
  if (!spec_.is_null) {
    HashFill hash = spec_.hash;
    hash.seed = fill_seed(hash.seed, generation);
    fill_elements(hash);
  }
}

std::vector<std::byte> Buffer::read(int64_t first, int64_t count) const {
  Area area = elements();
  area.first += static_cast<size_t>(first) * area.pitch;
  area.rows = static_cast<size_t>(count);
  return download(device_, area);
}

wire::SeenBuffer Buffer::strays() const {
  wire::SeenBuffer seen;
  seen.name = spec_.name;
  if (!spec_.is_null) {
    find_in_padding(seen);
    find_in_guards(seen);
  }
  return seen;
}

void Buffer::find_in_padding(wire::SeenBuffer& seen) const {
  const Area gaps = padding();
  const size_t slab_rows = gaps.rows == 0 ? 0 : std::max(size_t{1}, kSlabBytes / gaps.width);
  for (size_t row = 0; row < gaps.rows; row += slab_rows) {
    const Area slab{gaps.first + row * gaps.pitch, gaps.width, std::min(slab_rows, gaps.rows - row),
                    gaps.pitch};
    const std::vector<std::byte> bytes = download(device_, slab);
    const auto changed = std::find_if(bytes.begin(), bytes.end(), changed_from(guard_byte()));
    if (changed != bytes.end()) {
      const auto at = static_cast<size_t>(changed - bytes.begin());
      seen.padding_row = static_cast<int64_t>(row + at / gaps.width);
      seen.padding_col = spec_.cols + static_cast<int64_t>(at % gaps.width) / spec_.element_bytes();
      return;
    }
  }
}

void Buffer::find_in_guards(wire::SeenBuffer& seen) const {
  const std::vector<std::byte> before = download(device_, guard_before());
  const auto nearest = std::find_if(before.rbegin(), before.rend(), changed_from(guard_byte()));
  if (nearest != before.rend()) {
    seen.elements_before = (nearest - before.rbegin()) / spec_.element_bytes() + 1;
    return;
  }
  const std::vector<std::byte> after = download(device_, guard_after());
  const auto first = std::find_if(after.begin(), after.end(), changed_from(guard_byte()));
  if (first != after.end()) {
    seen.elements_after = (first - after.begin()) / spec_.element_bytes() + 1;
  }
}

}  // namespace onepass::worker

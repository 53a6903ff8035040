// Filling, reading and checking of buffers, the same for every device.
#include "worker/buffer.h"

#include <algorithm>

#include "worker/hash_fill.h"

namespace onepass::worker {
namespace {

// A kernel that reads past an input gets NaN, and one that copies what it read there onto the bytes
// past an output changes them, since the two guards differ.
constexpr unsigned char kInputGuard = 0xFF;
constexpr unsigned char kOutputGuard = 0xA5;
// A larger gap between rows would cost more time than the check is worth.
constexpr size_t kLargestGap = size_t{1} << 20;
constexpr size_t kSlabBytes = size_t{16} << 20;

std::vector<std::byte> download(Device& device, const Area& area) {
  std::vector<std::byte> bytes(area.width * area.rows);
  device.download(bytes.data(), area);
  return bytes;
}

}  // namespace

Buffer::Buffer(Device& device, const BufferSpec& spec) : device_(device), spec_(spec) {
  if (spec_.is_null) {
    return;
  }
  allocation_ = device_.allocate(spec_);
  try {
    device_.set(guard_before(), guard_byte());
    device_.set(guard_after(), guard_byte());
    device_.set(padding(), spec_.padding);
    fill_elements(spec_.fill);
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

void Buffer::fill_elements(const Fill& fill) {
  const Area area = elements();
  if (const auto* blob = std::get_if<const std::vector<std::byte>*>(&fill)) {
    device_.upload(area, (*blob)->data());
  } else if (const auto* byte = std::get_if<unsigned char>(&fill)) {
    device_.set(area, *byte);
    if (!spec_.is_output) {
      device_.mark_initialised(area);
    }
  } else {
    device_.hash_fill(area, std::get<HashFill>(fill));
  }
}

void Buffer::refill(uint64_t generation) {
  if (spec_.is_null) {
    return;
  }
  Fill fill = spec_.fill;
  if (auto* hash = std::get_if<HashFill>(&fill)) {
    hash->seed = fill_seed(hash->seed, generation);
  }
  fill_elements(fill);
}

std::vector<std::byte> Buffer::read(int64_t first, int64_t count) const {
  Area area = elements();
  area.first += static_cast<size_t>(first) * area.pitch;
  area.rows = static_cast<size_t>(count);
  return download(device_, area);
}

std::optional<PaddingChange> Buffer::padding_change() const {
  const Area gaps = padding();
  const std::byte expected{spec_.padding};
  const size_t slab_rows = gaps.rows == 0 ? 0 : std::max(size_t{1}, kSlabBytes / gaps.width);
  for (size_t row = 0; row < gaps.rows; row += slab_rows) {
    const Area slab{gaps.first + row * gaps.pitch, gaps.width, std::min(slab_rows, gaps.rows - row),
                    gaps.pitch};
    const std::vector<std::byte> bytes = download(device_, slab);
    const auto changed =
        std::find_if(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte != expected; });
    if (changed != bytes.end()) {
      const auto at = static_cast<size_t>(changed - bytes.begin());
      const auto element = static_cast<int64_t>(at % gaps.width) / spec_.element_bytes;
      return PaddingChange{static_cast<int64_t>(row + at / gaps.width), spec_.cols + element};
    }
  }
  return std::nullopt;
}

std::optional<GuardChange> Buffer::guard_change() const {
  if (spec_.is_null) {
    return std::nullopt;
  }
  const auto changed = [&](std::byte byte) { return byte != std::byte{guard_byte()}; };
  const std::vector<std::byte> before = download(device_, guard_before());
  const auto nearest = std::find_if(before.rbegin(), before.rend(), changed);
  if (nearest != before.rend()) {
    return GuardChange{true, (nearest - before.rbegin()) / spec_.element_bytes + 1};
  }
  const std::vector<std::byte> after = download(device_, guard_after());
  const auto first = std::find_if(after.begin(), after.end(), changed);
  if (first != after.end()) {
    return GuardChange{false, (first - after.begin()) / spec_.element_bytes + 1};
  }
  return std::nullopt;
}

}  // namespace onepass::worker

// Filling, reading and checking of buffers, the same for every device.
#include "worker/buffer.h"

#include <algorithm>
#include <map>
#include <stdexcept>

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

/// Bytes from the start of the first buffer of its matrix.
size_t begin_in_matrix(const BufferSpec& spec) {
  return spec.in.empty() ? 0 : static_cast<size_t>(spec.offset * spec.element_bytes());
}

size_t bytes_of(const std::vector<BufferSpec>& matrix) {
  size_t bytes = 0;
  for (const BufferSpec& spec : matrix) {
    bytes = std::max(bytes, begin_in_matrix(spec) + spec.span_bytes());
  }
  return bytes;
}

}  // namespace

Buffer::Buffer(Device& device, const BufferSpec& spec, const std::vector<Blob>& blobs,
               const std::vector<BufferSpec>& matrix, const Buffer* host, bool filled)
    : device_(device), blobs_(blobs), spec_(spec) {
  if (spec_.is_null) {
    return;
  }
  if (host == nullptr) {
    allocation_ = device_.allocate(spec_, bytes_of(matrix));
  }
  const Allocation& all = host == nullptr ? allocation_ : host->allocation_;
  first_ = all.first + begin_in_matrix(spec_);
  if (!filled) {
    return;
  }
  try {
    if (matrix.size() > 1) {
      device_.name_part(spec_, first_);
    }
    find_gaps(matrix, all);
    device_.set(guard_before(), guard_byte());
    for (const Gap& gap : gaps_) {
      device_.set(gap.area, guard_byte());
    }
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
  return {first_, spec_.row_bytes(), static_cast<size_t>(spec_.rows), spec_.pitch_bytes()};
}

Area Buffer::guard_before() const {
  const size_t bytes = allocation_.guard_before;
  return {first_ - bytes, bytes, bytes == 0 ? size_t{0} : size_t{1}, bytes};
}

/// Of those of one buffer alone all but the last are alike.
void Buffer::find_gaps(const std::vector<BufferSpec>& matrix, const Allocation& all) {
  std::byte* const end = all.first + bytes_of(matrix);
  const auto add = [&](int64_t row, std::byte* begin, size_t bytes, int64_t rows) {
    if (bytes > 0 && bytes <= kLargestGap && rows > 0) {
      const size_t pitch = rows == 1 ? bytes : spec_.pitch_bytes();  // a GPU's is no less than that
      gaps_.push_back({row, {begin, bytes, static_cast<size_t>(rows), pitch}});
    }
  };
  if (matrix.size() == 1) {
    add(0, first_ + spec_.row_bytes(), spec_.pitch_bytes() - spec_.row_bytes(), spec_.rows - 1);
    add(spec_.rows - 1, end, all.guard_after, 1);
    return;
  }
  std::vector<size_t> begins = {static_cast<size_t>(end - all.first) + all.guard_after};
  for (const BufferSpec& other : matrix) {
    for (int64_t row = 0; row < other.rows; ++row) {
      begins.push_back(begin_in_matrix(other) + static_cast<size_t>(row) * other.pitch_bytes());
    }
  }
  std::sort(begins.begin(), begins.end());
  for (int64_t row = 0; row < spec_.rows; ++row) {
    const size_t begin = begin_in_matrix(spec_) + static_cast<size_t>(row) * spec_.pitch_bytes();
    const size_t next = *std::upper_bound(begins.begin(), begins.end(), begin);
    if (next < begin + spec_.row_bytes()) {
      throw std::invalid_argument("rows of " + spec_.name + " overlap those of another buffer");
    }
    add(row, all.first + begin + spec_.row_bytes(), next - begin - spec_.row_bytes(), 1);
  }
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
    find_in_guard_before(seen);
    for (const Gap& gap : gaps_) {
      if (find_in(gap, seen)) {
        break;
      }
    }
  }
  return seen;
}

/// Notes the first stray write there, if there is one.
bool Buffer::find_in(const Gap& gap, wire::SeenBuffer& seen) const {
  const Area& area = gap.area;
  const size_t slab_rows = std::max(size_t{1}, kSlabBytes / area.width);
  for (size_t row = 0; row < area.rows; row += slab_rows) {
    const Area slab{area.first + row * area.pitch, area.width, std::min(slab_rows, area.rows - row),
                    area.pitch};
    const std::vector<std::byte> bytes = download(device_, slab);
    const auto changed = std::find_if(bytes.begin(), bytes.end(), changed_from(guard_byte()));
    if (changed != bytes.end()) {
      const auto at = static_cast<size_t>(changed - bytes.begin());
      const int64_t behind = static_cast<int64_t>(at % area.width) / spec_.element_bytes();
      const int64_t of_row = gap.row + static_cast<int64_t>(row + at / area.width);
      if (of_row < spec_.rows - 1) {
        seen.padding_row = of_row;
        seen.padding_col = spec_.cols + behind;
      } else if (seen.elements_before == 0) {
        seen.elements_after = behind + 1;
      }
      return true;
    }
  }
  return false;
}

void Buffer::find_in_guard_before(wire::SeenBuffer& seen) const {
  const std::vector<std::byte> before = download(device_, guard_before());
  const auto nearest = std::find_if(before.rbegin(), before.rend(), changed_from(guard_byte()));
  if (nearest != before.rend()) {
    seen.elements_before = (nearest - before.rbegin()) / spec_.element_bytes() + 1;
  }
}

Buffers make_buffers(Device& device, const std::vector<BufferSpec>& specs,
                     const std::vector<Blob>& blobs, bool filled) {
  Buffers buffers(specs.size());
  std::map<std::string, std::vector<BufferSpec>> matrices;  // by their first buffer
  std::map<std::string, const Buffer*> first;
  for (const BufferSpec& spec : specs) {
    if (!spec.is_null) {
      matrices[spec.in.empty() ? spec.name : spec.in].push_back(spec);
    }
  }
  for (const bool is_inside : {false, true}) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const BufferSpec& spec = specs[i];
      if (!spec.in.empty() == is_inside) {
        const std::string& name = is_inside ? spec.in : spec.name;
        buffers[i] = std::make_unique<Buffer>(device, spec, blobs, matrices[name],
                                              is_inside ? first.at(name) : nullptr, filled);
        first.emplace(name, buffers[i].get());
      }
    }
  }
  return buffers;
}

}  // namespace onepass::worker

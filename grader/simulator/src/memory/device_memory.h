// Device memory: a range of addresses that nothing else uses, so that one comparison tells a device
// address from any other.
//
// Each allocation starts at a multiple of 1 MiB and is followed by a gap of at least as much. A
// stray address therefore falls into a gap and not into a neighbour, and a table with an entry for
// each MiB finds an address's allocation in one step. Freed memory keeps its place, so that a
// later use is told from a stray one. Pages are given by the system when they are first touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/lazy_array.h"
#include "simulator.h"

namespace simulator {

/// What has a name: an allocation, or a part of it whose rows may lie between those of others.
struct Part {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  Label label;

  /// Where the last row of it begins that begins no later than there.
  std::uintptr_t row_before(std::uintptr_t address) const {
    const std::size_t pitch = static_cast<std::size_t>(label.stride) * label.element_bytes;
    const bool has_rows = label.cols > 0 && pitch > 0;
    return has_rows ? address - (address - begin) % pitch : begin;
  }
};

struct Allocation : Part {
  std::uint32_t number = 0;  // no other one that is not forgotten has it
  bool freed = false;
  std::vector<Part> parts;  // if it has several

  /// The one whose row holds the address, or was the last to begin before it.
  const Part& part_at(std::uintptr_t address) const {
    return parts.empty() ? *this : nearest_part(address);
  }

  bool contains(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && address - begin <= size && bytes <= size - (address - begin);
  }
  /// Bytes from the allocation to a stray address, 0 for an address inside.
  std::size_t distance(std::uintptr_t address) const {
    if (address < begin) return begin - address;
    return address < begin + size ? 0 : address - (begin + size) + 1;
  }

 private:
  const Part& nearest_part(std::uintptr_t address) const;
};

class DeviceMemory {
 public:
  static constexpr std::uintptr_t kBegin = 0x200000000000;
  static constexpr std::size_t kSize = std::size_t{16} << 40;
  static constexpr std::size_t kGap = std::size_t{1} << 20;  // at least, between allocations

  static bool in_range(std::uintptr_t address) { return address - kBegin < kSize; }

  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// nullptr if the device is full. See simulator.h.
  Allocation* allocate(std::size_t bytes, std::size_t offset, const Label& label);
  void release(Allocation& allocation);

  /// The allocation, freed or not, whose MiB `address` is in; nullptr if it is in a gap. The
  /// address may still lie before or behind it.
  Allocation* candidate(std::uintptr_t address) const {
    return owner_[(address - kBegin) >> kPageBits];
  }

  /// The allocation that starts exactly here and is not freed, or nullptr.
  Allocation* starting_at(const void* address) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    Allocation* found = containing(begin, 1);
    return found != nullptr && found->begin == begin ? found : nullptr;
  }
  /// The allocation that contains these bytes and is not freed, or nullptr.
  Allocation* containing(std::uintptr_t address, std::size_t bytes) const {
    Allocation* found = in_range(address) ? candidate(address) : nullptr;
    return found != nullptr && !found->freed && found->contains(address, bytes) ? found : nullptr;
  }
  /// Calls use(allocation) for each that is not freed.
  template <typename Use>
  void each(Use use) const {
    for (const Area* area : {&given_, &own_}) {
      for (const auto& allocation : area->allocations) {
        if (!allocation->freed) use(*allocation);
      }
    }
  }

  /// The allocation nearest to a stray address, or nullptr if there is none at all.
  const Allocation* nearest(std::uintptr_t address) const;

  /// Out of reach, each access to it is a fault. Returns whether it was in reach before.
  bool set_in_reach(bool wanted);

  std::size_t bytes_in_use() const { return given_.in_use + own_.in_use; }
  /// That the device had no room for, last in the running call; 0 if there was always room.
  std::size_t refused_bytes() const { return refused_bytes_; }

 private:
  static constexpr unsigned kPageBits = 20;
  // Whenever nothing of an area is in use a round begins. So many have the same addresses, as on a
  // GPU, so that what a kernel keeps by its address is seen; then come others, so that what it
  // keeps of memory that was freed is.
  static constexpr unsigned kRoundsAtOnePlace = 4;

  struct Area {
    std::uintptr_t begin, end;
    std::uintptr_t next = begin;
    std::uintptr_t round = begin;  // where it began
    unsigned rounds = 0;
    std::size_t in_use = 0;  // bytes
    std::vector<std::unique_ptr<Allocation>> allocations = {};
  };

  /// False if the area has no room.
  bool begin_round(Area& area, std::size_t spacing);
  /// Of freed memory only.
  void forget_from(Area& area, std::uintptr_t place);

  LazyArray<Allocation*> owner_;
  std::size_t refused_bytes_ = 0;
  bool in_reach_ = true;
  // What a launcher allocates for itself it may keep; what it is given changes its address all the
  // same, and comes back to it.
  Area given_{kBegin, kBegin + kSize / 2};
  Area own_{kBegin + kSize / 2, kBegin + kSize};
};

/// While this lives the simulator can use the memory, even if the host's code cannot.
class InReach {
 public:
  explicit InReach(DeviceMemory& memory) : memory_(memory), before_(memory.set_in_reach(true)) {}
  ~InReach() { memory_.set_in_reach(before_); }
  InReach(const InReach&) = delete;
  InReach& operator=(const InReach&) = delete;

 private:
  DeviceMemory& memory_;
  const bool before_;
};

}  // namespace simulator

#include "memory/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "device_limits.h"

namespace simulator {
namespace {

const std::size_t kPageBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The whole pages of the system that an allocation's bytes are on.
struct Pages {
  explicit Pages(const Allocation& allocation)
      : begin(allocation.begin & ~std::uintptr_t{kPageBytes - 1}),
        size(round_up(allocation.begin + allocation.size, kPageBytes) - begin) {}
  void* address() const { return reinterpret_cast<void*>(begin); }
  bool set_in_reach(bool wanted) const {
    return mprotect(address(), size, wanted ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
  }
  std::uintptr_t begin;
  std::size_t size;
};

}  // namespace

const Part& Allocation::nearest_part(std::uintptr_t address) const {
  const Part* nearest = &parts.front();
  for (const Part& part : parts) {
    if (part.begin <= address &&
        (nearest->begin > address || part.row_before(address) > nearest->row_before(address))) {
      nearest = &part;
    }
  }
  return *nearest;
}

DeviceMemory::DeviceMemory() : owner_(kSize >> kPageBits) {
  void* memory = mmap(reinterpret_cast<void*>(kBegin), kSize, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory != reinterpret_cast<void*>(kBegin)) {
    throw std::runtime_error(
        "the simulator needs 16 TiB of addresses (not of memory), which this system does not give: "
        "a limit may be set (ulimit -v), or its addresses have less than 48 bits");
  }
}

DeviceMemory::~DeviceMemory() {
  munmap(reinterpret_cast<void*>(kBegin), kSize);
}

bool DeviceMemory::begin_round(Area& area, std::size_t spacing) {
  if (area.in_use == 0) {
    if (++area.rounds % kRoundsAtOnePlace != 0) {
      forget_from(area, area.round);
    }
    area.round = area.next;
  }
  if (area.next + spacing > area.end) {
    if (area.in_use > 0) return false;
    forget_from(area, area.begin);
    area.round = area.next;
  }
  return true;
}

Allocation* DeviceMemory::allocate(std::size_t bytes, std::size_t offset, const Label& label) {
  Area& area = label.element_bytes > 0 ? given_ : own_;
  if (given_.in_use == 0) refused_bytes_ = 0;
  if (bytes == 0) return nullptr;
  if (bytes > limits::kMemoryBytes - bytes_in_use()) {
    refused_bytes_ = bytes;
    return nullptr;
  }
  const std::size_t spacing = round_up(offset + bytes, kGap) + kGap;
  if (!begin_round(area, spacing)) return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->number =
      static_cast<std::uint32_t>(2 * area.allocations.size() + (&area == &own_ ? 1 : 0));
  allocation->begin = area.next + offset;
  allocation->size = bytes;
  allocation->label = label;
  const Pages pages(*allocation);
  if (!pages.set_in_reach(true)) return nullptr;
  if (!in_reach_) pages.set_in_reach(false);
  for (std::uintptr_t page = area.next; page < allocation->begin + bytes; page += kGap) {
    owner_[(page - kBegin) >> kPageBits] = allocation.get();
  }
  area.next += spacing;
  area.in_use += bytes;
  area.allocations.push_back(std::move(allocation));
  return area.allocations.back().get();
}

void DeviceMemory::forget_from(Area& area, std::uintptr_t place) {
  while (!area.allocations.empty() && area.allocations.back()->begin >= place) {
    area.allocations.pop_back();
  }
  for (std::uintptr_t page = place; page < area.next; page += kGap) {
    owner_[(page - kBegin) >> kPageBits] = nullptr;
  }
  area.next = place;
}

void DeviceMemory::release(Allocation& allocation) {
  const Pages pages(allocation);
  madvise(pages.address(), pages.size, MADV_DONTNEED);
  pages.set_in_reach(false);
  allocation.freed = true;
  (allocation.begin < given_.end ? given_ : own_).in_use -= allocation.size;
}

bool DeviceMemory::set_in_reach(bool wanted) {
  const bool before = std::exchange(in_reach_, wanted);
  if (before == wanted) return before;
  for (const Area* area : {&given_, &own_}) {
    // What lies between is out of reach as it is: one call for all costs less.
    if (!wanted && area->in_use > 0) {
      mprotect(reinterpret_cast<void*>(area->begin), area->next - area->begin, PROT_NONE);
      continue;
    }
    for (const auto& allocation : area->allocations) {
      if (!allocation->freed) Pages(*allocation).set_in_reach(wanted);
    }
  }
  return before;
}

const Allocation* DeviceMemory::nearest(std::uintptr_t address) const {
  const Allocation* best = nullptr;
  for (const Area* area : {&given_, &own_}) {
    for (const auto& allocation : area->allocations) {
      if (best == nullptr || allocation->distance(address) < best->distance(address)) {
        best = allocation.get();
      }
    }
  }
  return best;
}

}  // namespace simulator

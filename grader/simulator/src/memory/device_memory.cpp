#include "memory/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "common/limits.h"

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
  std::uintptr_t begin;
  std::size_t size;
};

}  // namespace

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

Allocation* DeviceMemory::allocate(std::size_t bytes, std::size_t offset, const Label& label) {
  if (bytes == 0 || bytes > limits::kMemoryBytes - bytes_in_use_) return nullptr;
  const std::size_t spacing = round_up(offset + bytes, kGap) + kGap;
  if (bytes_in_use_ == 0) {
    if (++rounds_ % kRoundsAtOnePlace != 0) {
      forget_from(round_);
    }
    round_ = next_;
  }
  if (next_ + spacing > kBegin + kSize) {
    if (bytes_in_use_ > 0) return nullptr;
    forget_from(kBegin);
    round_ = next_;
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->number = static_cast<std::uint32_t>(allocations_.size());
  allocation->begin = next_ + offset;
  allocation->size = bytes;
  allocation->label = label;
  const Pages pages(*allocation);
  if (mprotect(pages.address(), pages.size, PROT_READ | PROT_WRITE) != 0) return nullptr;
  for (std::uintptr_t page = next_; page < allocation->begin + bytes; page += kGap) {
    owner_[(page - kBegin) >> kPageBits] = allocation.get();
  }
  next_ += spacing;
  bytes_in_use_ += bytes;
  allocations_.push_back(std::move(allocation));
  return allocations_.back().get();
}

void DeviceMemory::forget_from(std::uintptr_t place) {
  while (!allocations_.empty() && allocations_.back()->begin >= place) {
    allocations_.pop_back();
  }
  for (std::uintptr_t page = place; page < next_; page += kGap) {
    owner_[(page - kBegin) >> kPageBits] = nullptr;
  }
  next_ = place;
}

void DeviceMemory::release(Allocation& allocation) {
  const Pages pages(allocation);
  madvise(pages.address(), pages.size, MADV_DONTNEED);
  mprotect(pages.address(), pages.size, PROT_NONE);
  allocation.freed = true;
  bytes_in_use_ -= allocation.size;
}

const Allocation* DeviceMemory::nearest(std::uintptr_t address) const {
  const Allocation* best = nullptr;
  for (const auto& allocation : allocations_) {  // in order of address
    if (best == nullptr || allocation->distance(address) < best->distance(address)) {
      best = allocation.get();
    }
  }
  return best;
}

}  // namespace simulator

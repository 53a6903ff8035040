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

/// Memory from a plain cudaMalloc has no element type: it is spoken of in units of the access.
std::int64_t element_bytes(const Allocation& allocation, std::size_t access_bytes) {
  const std::size_t bytes =
      allocation.label.element_bytes > 0 ? allocation.label.element_bytes : access_bytes;
  return static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

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
  if (next_ + spacing > kBegin + kSize) {
    if (bytes_in_use_ > 0) return nullptr;
    // Nothing is in use: begin again at the start, and forget what was freed there.
    std::fill_n(owner_.data(), owner_.size(), nullptr);
    allocations_.clear();
    next_ = kBegin;
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

void DeviceMemory::release(Allocation& allocation) {
  const Pages pages(allocation);
  madvise(pages.address(), pages.size, MADV_DONTNEED);
  mprotect(pages.address(), pages.size, PROT_NONE);
  allocation.freed = true;
  bytes_in_use_ -= allocation.size;
}

Allocation* DeviceMemory::starting_at(const void* address) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  Allocation* found = in_range(begin) ? candidate(begin) : nullptr;
  return found != nullptr && found->begin == begin && !found->freed ? found : nullptr;
}

Allocation* DeviceMemory::containing(const void* address, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  Allocation* found = in_range(begin) ? candidate(begin) : nullptr;
  return found != nullptr && !found->freed && found->contains(begin, bytes) ? found : nullptr;
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

std::string element_name(const Allocation& allocation, std::uintptr_t address,
                         std::size_t access_bytes, std::int64_t& index) {
  const Label& label = allocation.label;
  const auto offset = static_cast<std::int64_t>(address - allocation.begin);
  index = floor_divide(offset, element_bytes(allocation, access_bytes));
  if (label.cols > 0 && label.stride > 0 && index >= 0) {
    return label.name + '[' + std::to_string(index / label.stride) + "][" +
           std::to_string(index % label.stride) + ']';
  }
  return label.name + '[' + std::to_string(index) + ']';
}

std::string distance_from(const Allocation& allocation, std::uintptr_t address,
                          std::size_t access_bytes) {
  const std::int64_t unit = element_bytes(allocation, access_bytes);
  const bool before = address < allocation.begin;
  const auto bytes = static_cast<std::int64_t>(before ? allocation.begin - address
                                                      : address + access_bytes -
                                                            (allocation.begin + allocation.size));
  const std::int64_t elements = (bytes + unit - 1) / unit;
  return std::to_string(elements) + (elements == 1 ? " element " : " elements ") +
         (before ? "before the start of " : "past the end of ") + allocation.label.name;
}

}  // namespace simulator

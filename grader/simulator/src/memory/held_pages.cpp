#include "memory/held_pages.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory/device_memory.h"

namespace simulator {
namespace {

constexpr std::size_t kWorthLooking = std::size_t{1} << 20;  // bytes

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Bytes from here to the end of the page.
std::size_t left_of_page(const char* address) {
  return page_bytes() - reinterpret_cast<std::uintptr_t>(address) % page_bytes();
}

}  // namespace

HeldPages::HeldPages(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes < kWorthLooking || !DeviceMemory::in_range(begin)) return;
  first_ = begin / page_bytes();
  in_memory_.resize((begin + bytes - 1) / page_bytes() - first_ + 1);
  auto* const first = reinterpret_cast<void*>(first_ * page_bytes());
  if (mincore(first, in_memory_.size() * page_bytes(), in_memory_.data()) != 0) in_memory_.clear();
  struct sysinfo facts = {};
  some_swapped_out_ = sysinfo(&facts) != 0 || facts.freeswap != facts.totalswap;
}

bool HeldPages::hold(std::uintptr_t address) const {
  if (in_memory_.empty() || (in_memory_[address / page_bytes() - first_] & 1) != 0) return true;
  if (!some_swapped_out_) return false;
  const auto* const page = reinterpret_cast<const char*>(address / page_bytes() * page_bytes());
  return *page != 0 || std::memcmp(page, page + 1, page_bytes() - 1) != 0;
}

void write_held(char* to, const HeldPages& to_pages, const char* from, const HeldPages& from_pages,
                std::size_t bytes) {
  while (bytes > 0) {
    std::size_t piece = std::min(bytes, left_of_page(to));
    if (from != nullptr) piece = std::min(piece, left_of_page(from));
    if (from != nullptr && from_pages.hold(reinterpret_cast<std::uintptr_t>(from))) {
      std::memmove(to, from, piece);
    } else if (to_pages.hold(reinterpret_cast<std::uintptr_t>(to))) {
      std::memset(to, 0, piece);
    }
    to += piece;
    if (from != nullptr) from += piece;
    bytes -= piece;
  }
}

}  // namespace simulator

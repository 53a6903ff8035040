// Places in the student's code by small numbers, so that records of accesses stay small.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "common/lazy_array.h"
#include "source/source_lines.h"

extern char __executable_start, _end;  // the linker's names for the program's first and last byte

namespace simulator {

class Sites {
 public:
  static constexpr std::uint32_t kMost = 1u << 13;

  Sites() : numbers_(offset_of(reinterpret_cast<std::uintptr_t>(&_end))) {}

  /// The number of a place; 0, the unknown place, when there are more than kMost. `size` is that of
  /// an access there.
  std::uint32_t number(CodeAddress site, unsigned size) {
    const std::size_t offset = offset_of(site);
    if (offset >= numbers_.size()) return 0;
    const std::uint16_t number = numbers_[offset];
    return __builtin_expect(number == 0, 0) ? add(site, size) : number;
  }

  CodeAddress address(std::uint32_t number) const { return sites_[number].address; }

  /// How many bytes an access there has: as the first one had. 0 if that is not known, as where
  /// copies of several sizes begin.
  unsigned size(std::uint32_t number) const { return sites_[number].size; }
  void note_size(std::uint32_t number, unsigned size) {
    if (sites_[number].size != size) sites_[number].size = 0;
  }

  /// Whether the access there goes through a volatile pointer.
  void mark_volatile(std::uint32_t number) { is_volatile_[number] = true; }
  bool is_volatile(std::uint32_t number) const { return is_volatile_[number]; }

 private:
  static std::size_t offset_of(CodeAddress site) {
    return site - reinterpret_cast<std::uintptr_t>(&__executable_start);
  }
  struct Site {
    CodeAddress address;
    unsigned size;
  };

  [[gnu::noinline]] std::uint32_t add(CodeAddress site, unsigned size) {
    if (sites_.size() >= kMost) return 0;
    const auto number = static_cast<std::uint16_t>(sites_.size());
    numbers_[offset_of(site)] = number;
    sites_.push_back({site, size});
    return number;
  }

  /// By distance from the program's first byte. Only the pages of kernels are ever touched.
  LazyArray<std::uint16_t> numbers_;
  std::vector<Site> sites_ = {{0, 0}};
  std::bitset<kMost> is_volatile_;
};

}  // namespace simulator

// One bit for each byte of a piece of memory: has it been written?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/lazy_array.h"

namespace simulator {

class InitialisedBits {
 public:
  InitialisedBits() = default;
  explicit InitialisedBits(std::size_t bytes) : words_(bytes / 64 + 2) {}

  /// For 1 to 16 bytes: a load or a store.
  bool all_set(std::size_t offset, unsigned size) const {
    const unsigned shift = offset % 64;
    const std::uint64_t* word = &words_[offset / 64];
    const std::uint64_t missing = low_bits(size) << shift & ~word[0];
    if (shift + size <= 64) return missing == 0;
    return missing == 0 && (low_bits(shift + size - 64) & ~word[1]) == 0;
  }
  void set(std::size_t offset, unsigned size) {
    const unsigned shift = offset % 64;
    std::uint64_t* word = &words_[offset / 64];
    word[0] |= low_bits(size) << shift;
    if (shift + size > 64) word[1] |= low_bits(shift + size - 64);
  }

  /// For any number of bytes.
  void fill(std::size_t offset, std::size_t size, bool value) {
    const std::size_t end = offset + size;
    while (offset < end && offset % 64 != 0) assign(offset++, value);
    const std::size_t words = (end - offset) / 64;
    if (offset < end && words > 0) {
      std::memset(&words_[offset / 64], value ? 0xFF : 0, words * 8);
      offset += words * 64;
    }
    while (offset < end) assign(offset++, value);
  }

 private:
  static std::uint64_t low_bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

  void assign(std::size_t offset, bool value) {
    const std::uint64_t bit = std::uint64_t{1} << offset % 64;
    std::uint64_t& word = words_[offset / 64];
    word = value ? word | bit : word & ~bit;
  }

  LazyArray<std::uint64_t> words_;
};

}  // namespace simulator

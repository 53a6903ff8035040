// Which sectors of a buffer have been touched, a bit for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/lazy_array.h"
#include "traffic/memory_request.h"

namespace simulator {

class SectorSet {
 public:
  SectorSet() = default;
  /// For `bytes` bytes from any address on: sectors are counted from one that holds the first byte.
  explicit SectorSet(std::size_t bytes) : words_(bytes / kSectorBytes / 64 + 2) {}

  void insert(std::size_t sector) { words_[sector / 64] |= std::uint64_t{1} << sector % 64; }

  void insert_all(const SectorSet& other) {
    if (words_.size() == 0) words_ = LazyArray<std::uint64_t>(other.words_.size());
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      if (other.words_[i] != 0) words_[i] |= other.words_[i];
    }
  }

  std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      sum += static_cast<std::uint64_t>(__builtin_popcountll(words_[i]));
    }
    return sum;
  }

 private:
  LazyArray<std::uint64_t> words_;
};

}  // namespace simulator

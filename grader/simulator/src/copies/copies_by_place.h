// The asynchronous copies of up to 16 bytes that a block has under way, for the question which of
// them an access meets. It is asked at every access while one is under way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "events/events.h"

namespace simulator {

/// By the 16 bytes that one end of them lies in: no copy lies in two such pieces. A hash table of
/// lists; pieces that lie side by side, as in a ring, have lists of their own.
class CopiesByPlace {
 public:
  explicit CopiesByPlace(Access AsyncCopy::*end) : end_(end) {}

  bool empty() const { return count_ == 0; }

  void clear() {
    if (!empty()) *this = CopiesByPlace(end_);
  }

  void add(const AsyncCopy& copy) {
    if (count_ == lists_.size()) grow();
    if (free_ == kNone) {
      free_ = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({nullptr, kNone});
    }
    const std::uint32_t number = free_;
    free_ = entries_[number].next;
    const Access& end = copy.*end_;
    std::uint32_t& first = list_of(end.address / kPiece);
    entries_[number] = {&copy, first};
    first = number;
    ++count_;
    lowest_ = std::min(lowest_, end.address);
    highest_ = std::max(highest_, end.address + end.size);
  }

  void remove(const AsyncCopy& copy) {
    if (empty()) return;
    std::uint32_t* link = &list_of((copy.*end_).address / kPiece);
    while (*link != kNone && entries_[*link].copy != &copy) link = &entries_[*link].next;
    if (*link == kNone) return;
    const std::uint32_t number = *link;
    *link = entries_[number].next;
    entries_[number].next = free_;
    free_ = number;
    if (--count_ > 0) return;
    lowest_ = ~std::uintptr_t{0};
    highest_ = 0;
  }

  /// One whose end shares a byte with the access; nullptr if there is none.
  const AsyncCopy* met_by(std::uintptr_t address, unsigned size) const {
    if (address >= highest_ || address + size <= lowest_) return nullptr;
    const std::uintptr_t last = (address + size - 1) / kPiece;
    for (std::uintptr_t piece = address / kPiece; piece <= last; ++piece) {
      for (std::uint32_t at = list_of(piece); at != kNone; at = entries_[at].next) {
        const Access& end = entries_[at].copy->*end_;
        if (end.address < address + size && address < end.address + end.size) {
          return entries_[at].copy;
        }
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::uintptr_t kPiece = 16;
  static constexpr std::size_t kFewest = 64;  // a power of two, as all numbers of lists are
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    const AsyncCopy* copy;
    std::uint32_t next;  // of its list, or of those that are free
  };

  std::uint32_t& list_of(std::uintptr_t piece) { return lists_[piece & (lists_.size() - 1)]; }
  std::uint32_t list_of(std::uintptr_t piece) const { return lists_[piece & (lists_.size() - 1)]; }

  /// Twice as many lists. All entries are in use.
  void grow() {
    lists_.assign(lists_.empty() ? kFewest : 2 * lists_.size(), kNone);
    for (std::uint32_t number = 0; number < entries_.size(); ++number) {
      std::uint32_t& first = list_of((entries_[number].copy->*end_).address / kPiece);
      entries_[number].next = first;
      first = number;
    }
  }

  Access AsyncCopy::*end_;
  std::vector<std::uint32_t> lists_;  // the first entry of each
  std::vector<Entry> entries_;
  std::uint32_t free_ = kNone;
  std::size_t count_ = 0;
  std::uintptr_t lowest_ = ~std::uintptr_t{0}, highest_ = 0;  // all lie between
};

}  // namespace simulator

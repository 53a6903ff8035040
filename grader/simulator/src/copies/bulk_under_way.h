// The bulk copies that a block has under way, for the question which of them an access meets.
//
// There are few, and each has many pieces of 16 bytes that lie side by side at both ends: so a copy
// is found by its range, and the piece by its number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "events/events.h"

namespace simulator {

class BulkUnderWay {
 public:
  bool is_empty() const { return copies_.empty(); }
  void clear() { copies_.clear(); }

  /// Pieces begin in order, and those of one copy without others between.
  void begin(const AsyncCopy& piece) {
    if (copies_.empty() || copies_.back().is_whole()) {
      copies_.push_back({piece.to.address, piece.from.address, piece.whole, 0, {}});
    }
    copies_.back().pieces.push_back(&piece);
  }

  void end(const AsyncCopy& piece) {
    for (auto copy = copies_.begin(); copy != copies_.end(); ++copy) {
      const std::size_t number = (piece.to.address - copy->to) / kPiece;
      if (piece.to.address < copy->to || number >= copy->pieces.size()) continue;
      if (copy->pieces[number] != &piece) continue;
      copy->pieces[number] = nullptr;
      ++copy->ended;
      if (copy->is_whole() && copy->ended == copy->pieces.size()) copies_.erase(copy);
      return;
    }
  }

  /// The piece that writes what an access to these bytes uses, or that reads what it writes.
  const AsyncCopy* met_by(std::uintptr_t address, unsigned size, bool writes) const {
    const AsyncCopy* met = met_at(&Copy::to, address, size);
    if (met != nullptr || !writes) return met;
    met = met_at(&Copy::from, address, size);
    return met != nullptr && met->is_read ? nullptr : met;
  }

 private:
  static constexpr std::size_t kPiece = 16;

  struct Copy {
    std::uintptr_t to, from;
    std::size_t bytes, ended;              // ended: pieces
    std::vector<const AsyncCopy*> pieces;  // nullptr: it has landed

    std::size_t begun() const { return pieces.size() * kPiece; }  // bytes
    bool is_whole() const { return begun() == bytes; }
  };

  const AsyncCopy* met_at(std::uintptr_t Copy::*end, std::uintptr_t address, unsigned size) const {
    for (const Copy& copy : copies_) {
      const std::uintptr_t begin = copy.*end;
      if (address + size <= begin || address >= begin + copy.begun()) continue;
      for (const std::uintptr_t byte : {address, address + size - 1}) {
        if (byte < begin || byte >= begin + copy.begun()) continue;
        const AsyncCopy* const piece = copy.pieces[(byte - begin) / kPiece];
        if (piece != nullptr) return piece;
      }
    }
    return nullptr;
  }

  std::vector<Copy> copies_;
};

}  // namespace simulator

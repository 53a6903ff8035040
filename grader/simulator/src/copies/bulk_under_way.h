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
    for (Copy& copy : copies_) {
      const AsyncCopy** const found = copy.piece_at(copy.to, piece.to.address);
      if (found == nullptr || *found != &piece) continue;
      *found = nullptr;
      ++copy.ended;
      break;
    }
    copies_.erase(std::remove_if(copies_.begin(), copies_.end(),
                                 [](const Copy& copy) {
                                   return copy.is_whole() && copy.ended == copy.pieces.size();
                                 }),
                  copies_.end());
  }

  /// The piece that writes, or that reads, what the access uses; nullptr if there is none.
  const AsyncCopy* writer_met_by(const Access& access) { return met_by(&Copy::to, access); }
  const AsyncCopy* reader_met_by(const Access& access) {
    const AsyncCopy* const met = met_by(&Copy::from, access);
    return met != nullptr && met->is_read ? nullptr : met;
  }

 private:
  static constexpr std::size_t kPiece = 16;

  struct Copy {
    std::uintptr_t to, from;
    std::size_t bytes, ended;              // ended: pieces
    std::vector<const AsyncCopy*> pieces;  // nullptr: it has landed

    bool is_whole() const { return pieces.size() * kPiece == bytes; }
    const AsyncCopy** piece_at(std::uintptr_t begin, std::uintptr_t address) {
      const std::size_t number = (address - begin) / kPiece;
      return address < begin || number >= pieces.size() ? nullptr : &pieces[number];
    }
  };

  const AsyncCopy* met_by(std::uintptr_t Copy::*begin, const Access& access) {
    for (Copy& copy : copies_) {
      for (const std::uintptr_t address : {access.address, access.address + access.size - 1}) {
        const AsyncCopy** const piece = copy.piece_at(copy.*begin, address);
        if (piece != nullptr && *piece != nullptr) return *piece;
      }
    }
    return nullptr;
  }

  std::vector<Copy> copies_;
};

}  // namespace simulator

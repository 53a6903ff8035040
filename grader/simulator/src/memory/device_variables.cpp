#include "memory/device_variables.h"

#include <utility>

extern char __executable_start, _end;  // the linker's names for the program's first and last byte

namespace simulator {

bool DeviceVariables::contains(std::uintptr_t address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start);
  const auto size = reinterpret_cast<std::uintptr_t>(&_end) - begin;
  return address - begin < size && bytes <= size - (address - begin);
}

void DeviceVariables::note_write(std::uintptr_t address, std::size_t bytes) {
  for (std::uintptr_t at = address; at < address + bytes; ++at) {
    Piece& piece = pieces_[at - at % kPieceBytes];
    const std::uint64_t bit = std::uint64_t{1} << at % kPieceBytes;
    if ((piece.written & bit) == 0) {
      piece.others[at % kPieceBytes] = *reinterpret_cast<const unsigned char*>(at);
      piece.written |= bit;
    }
  }
}

void DeviceVariables::exchange() {
  for (auto& [begin, piece] : pieces_) {
    auto* const values = reinterpret_cast<unsigned char*>(begin);
    for (std::size_t i = 0; i < kPieceBytes; ++i) {
      if ((piece.written >> i & 1) != 0) std::swap(values[i], piece.others[i]);
    }
  }
}

}  // namespace simulator

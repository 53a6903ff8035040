// The program's global variables stand for __device__ and __constant__ ones. On a GPU the host has
// variables of its own by the same names, and does not see what a kernel writes. So of each byte
// that the device has written there are two values: the device's is there while a kernel runs or a
// copy is made, the host's at all other times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace simulator {

class DeviceVariables {
 public:
  static bool contains(std::uintptr_t address, std::size_t bytes);

  /// The device is going to write these bytes, its values being there.
  void note_write(std::uintptr_t address, std::size_t bytes);

  /// The host's values for the device's, or the other way round.
  void exchange();

 private:
  static constexpr std::size_t kPieceBytes = 64;
  struct Piece {
    unsigned char others[kPieceBytes];
    std::uint64_t written = 0;  // a bit for each byte that has another value
  };
  std::unordered_map<std::uintptr_t, Piece> pieces_;  // by where they begin
};

/// While this lives the variables have the device's values.
class DeviceValues {
 public:
  explicit DeviceValues(DeviceVariables& variables) : variables_(variables) {
    variables_.exchange();
  }
  ~DeviceValues() { variables_.exchange(); }
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;

 private:
  DeviceVariables& variables_;
};

}  // namespace simulator

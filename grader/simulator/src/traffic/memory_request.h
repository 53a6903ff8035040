// A request: one load, store or atomic of a warp, with the address of each lane that takes part.
//
// Its cost follows from the addresses alone. Global memory moves in sectors of 32 bytes, and a
// request moves each sector that its lanes touch once: 32 lanes that read neighbouring floats move
// 4 sectors, 32 lanes that read floats of 32 different rows move 32, of which 28/32 is waste.
//
// An atomic that several lanes do to the same word is done once for each of them: a sector counts
// as often as the most wanted of its words.
//
// Shared memory lies in 32 banks, each 4 bytes wide: word w is in bank w % 32. A bank serves one
// word at a time, to as many lanes as want it. So a request takes as many wavefronts as the busiest
// bank has words to serve. Accesses of 8 bytes are served to half a warp at a time, of 16 to a
// quarter. Loads are served to twice as many lanes if all lanes i and i ^ 1 want the same (or at
// most one of them takes part), or all lanes i and i ^ 2.
//
// All this was found by comparison with the counters of an H200 (docs/simulator_counts.md).
#pragma once

#include <cstdint>

namespace simulator {

constexpr int kWarpLanes = 32;
constexpr unsigned kSectorBytes = 32;
constexpr unsigned kBanks = 32, kBankBytes = 4;

struct MemoryRequest {
  unsigned lanes = 0;       // mask of those that take part
  unsigned bytes = 0;       // of one lane's access
  std::uint32_t order = 0;  // among the requests of its warp
  std::uintptr_t address[kWarpLanes];
  unsigned short_lanes = 0;         // of them: an asynchronous copy that fills its end with zeros
  std::uint8_t unread[kWarpLanes];  // the bytes at its end that such a lane does not read

  std::uintptr_t first_address() const { return address[__builtin_ctz(lanes)]; }
};

struct RequestCost {
  unsigned bytes = 0;  // that differ
  unsigned units = 0;  // sectors or wavefronts
  unsigned least_units = 0;
};

/// The sectors of a request, each once, in rising order: numbers of 32-byte pieces of the address
/// space. An access of 16 bytes may lie in two.
struct Sectors {
  std::uintptr_t number[2 * kWarpLanes];
  int count = 0;
};

/// Of a load or store. Also fills `sectors`, which must be empty.
RequestCost global_cost(const MemoryRequest& request, Sectors& sectors);
RequestCost atomic_cost(const MemoryRequest& request, Sectors& sectors);
RequestCost shared_cost(const MemoryRequest& request, bool is_load);

/// From each active lane's address to the next one's, 0 if it varies.
std::int64_t lane_distance(const MemoryRequest& request);

}  // namespace simulator

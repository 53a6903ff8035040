// How many blocks the device holds at one time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device_limits.h"

namespace simulator {

/// The value, rounded up to a multiple of the unit.
constexpr std::uint64_t in_whole(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The blocks that are on a multiprocessor at one time, as cudaOccupancyMaxActiveBlocksPer-
/// Multiprocessor() has it (the toolkit's cuda_occupancy.h); 0: not one, so that a launch fails.
/// registers: of a thread, 0 for as few as it takes. shared_bytes: of a block, static and dynamic.
constexpr int blocks_at_once(int registers, std::uint64_t threads, std::uint64_t shared_bytes,
                             const limits::Generation& gpu = limits::kGenerations[0]) {
  using namespace limits;
  constexpr std::uint64_t kParts = 4;  // of a multiprocessor, with as many registers each
  constexpr std::uint64_t kRegistersAtOnce = 256;  // a warp gets a multiple
  constexpr std::uint64_t kSharedAtOnce = 128;
  if (threads == 0 || threads > kThreadsPerBlock || shared_bytes > gpu.shared_of_block) return 0;
  const std::uint64_t warps = (threads + kWarpSize - 1) / kWarpSize;
  auto blocks = std::min(static_cast<std::uint64_t>(gpu.blocks),
                         static_cast<std::uint64_t>(gpu.threads) / kWarpSize / warps);
  if (registers > 0) {
    const std::uint64_t of_warp =
        in_whole(static_cast<std::uint64_t>(registers) * kWarpSize, kRegistersAtOnce);
    if (of_warp * in_whole(warps, kParts) > kRegistersPerBlock) return 0;
    blocks = std::min(blocks, kRegistersPerBlock / kParts / of_warp * kParts / warps);
  }
  const std::uint64_t shared = in_whole(shared_bytes + gpu.shared_reserved, kSharedAtOnce);
  return static_cast<int>(shared == 0 ? blocks
                                      : std::min<std::uint64_t>(blocks, gpu.shared / shared));
}

}  // namespace simulator

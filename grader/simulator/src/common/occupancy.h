// How many blocks the device holds at one time.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/limits.h"

namespace simulator {

/// On one multiprocessor: by threads, blocks and dynamic shared memory. What registers and static
/// shared memory a kernel needs is not known.
inline std::size_t blocks_per_multiprocessor(std::size_t threads, std::size_t dynamic_shared) {
  using namespace limits;
  const std::size_t whole_warps = (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  return std::min({std::size_t{kBlocksPerMultiprocessor}, kThreadsPerMultiprocessor / whole_warps,
                   kSharedPerMultiprocessor / (dynamic_shared + kSharedReservedPerBlock)});
}

inline std::size_t blocks_on_device(std::size_t threads, std::size_t dynamic_shared) {
  return blocks_per_multiprocessor(threads, dynamic_shared) * limits::kMultiprocessors;
}

}  // namespace simulator

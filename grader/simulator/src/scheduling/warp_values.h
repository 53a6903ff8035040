// The arithmetic of warp operations, apart from the waiting: given the requests of the lanes that
// meet, what does each lane get?
#pragma once

#include <cstdint>

#include "scheduling/threads.h"

namespace simulator {

/// What a shuffle gives that reads a lane which is not there: a NaN as float, half or double, and
/// a striking number as an integer.
constexpr std::uint64_t kUndefinedValue = 0x7fff7fff7fff7fff;

/// The lane that `lane` reads in its shuffle. Beyond the segment of `width` lanes it is its own.
int shuffle_source(const WarpRequest& request, int lane);

/// Fills in the answers of a vote, a match or a reduction for the lanes of `group`.
void combine(WarpOperation operation, Warp& warp, unsigned group);

}  // namespace simulator

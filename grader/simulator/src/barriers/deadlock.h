// Nobody can go on: says who waits for what.
#pragma once

#include "scheduling/threads.h"

namespace simulator {

/// No thread of the block is ready, and not all have returned.
void report_deadlock(Block& block);

/// As many blocks as fit at one time wait for a word in memory to change; `unstarted` more blocks
/// of the launch have not begun.
void report_blocks_waiting(Block& block, std::uint64_t unstarted);

}  // namespace simulator

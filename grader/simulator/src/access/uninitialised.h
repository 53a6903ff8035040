// Reads of memory that nobody has written.
//
// In shared memory the usual cause is a missing barrier: thread 0 reads what thread 9 has yet to
// write. So such a read is noted, and told only when the next barrier comes without anybody having
// written there. If another thread does write, and nothing orders the two, they race, and the race
// is told instead.
#pragma once

#include "access/access.h"
#include "scheduling/threads.h"

namespace simulator {

void note_uninitialised_read(Block& block, const Thread& thread, const Access& read);

/// A thread writes: what other threads read of these bytes since the last barrier, they read too
/// early. Tells it as a race and forgets the reads.
void settle_early_reads(Block& block, const Thread& writer, const Access& write);

/// At a barrier and at the block's end.
void report_uninitialised_reads(Block& block);

}  // namespace simulator

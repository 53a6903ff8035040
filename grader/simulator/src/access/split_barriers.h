// Barriers in shared memory: what their calls share with those of copies and stores that land
// there.
#pragma once

#include "onepass_simulator/device_calls.h"
#include "scheduling/running.h"

namespace simulator {

/// One that the running thread uses, and whose it is.
struct UsedBarrier {
  SplitBarrier& at;
  Block& block;
  std::uintptr_t address;  // in that block's own memory
};

/// The barrier, which the running thread uses in this way.
UsedBarrier use_barrier(Launch& launch, const void* barrier, AccessType type, CodeAddress site,
                        BarrierOf whose = BarrierOf::own_block);

/// The running thread has arrived, announced bytes or begun a copy: is the phase complete?
void note_arrival(Launch& launch, const UsedBarrier& used);

/// Gives each other thread that can run a turn.
void let_others_run(Launch& launch);

/// The running thread waits until that phase is complete.
void wait_for_phase(Launch& launch, SplitBarrier& barrier, std::uintptr_t address,
                    std::uint64_t phase, CodeAddress site);

/// Those of the running block that wait there look again.
void wake(Launch& launch, std::uintptr_t address);

}  // namespace simulator

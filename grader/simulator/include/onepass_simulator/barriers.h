// Waiting for the other threads of a block or a warp, and memory fences.
#pragma once

#include "indices.h"

__forceinline__ void __syncthreads() {
  simulator::block_barrier(simulator::Barrier::plain, 0);
}
/// count: how many threads of the block gave a predicate that is not zero.
ONEPASS_INTRINSIC(int, __syncthreads_count, (int predicate),
                  simulator::block_barrier(simulator::Barrier::count, predicate != 0))
ONEPASS_INTRINSIC(int, __syncthreads_and, (int predicate),
                  simulator::block_barrier(simulator::Barrier::all, predicate != 0))
ONEPASS_INTRINSIC(int, __syncthreads_or, (int predicate),
                  simulator::block_barrier(simulator::Barrier::any, predicate != 0))

__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu) {
  simulator::warp_operation(simulator::WarpOperation::sync, mask, 0, 0, warpSize);
}

ONEPASS_INTRINSIC(void, __threadfence_block, (),
                  simulator::memory_fence(simulator::FenceScope::block))
ONEPASS_INTRINSIC(void, __threadfence, (), simulator::memory_fence(simulator::FenceScope::device))
ONEPASS_INTRINSIC(void, __threadfence_system, (),
                  simulator::memory_fence(simulator::FenceScope::system))

ONEPASS_INTRINSIC(void, __nanosleep, (unsigned), simulator::yield())
ONEPASS_INTRINSIC(void, __trap, (), simulator::trap())
ONEPASS_INTRINSIC(void, __brkpt, (), simulator::trap())

// They grow, so that a loop that waits for them ends. They measure nothing.
ONEPASS_INTRINSIC(long long, clock64, (), simulator::clock_ticks())

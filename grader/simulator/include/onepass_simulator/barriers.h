// Waiting for the other threads of a block or a warp, and memory fences.
#pragma once

#include "indices.h"

/// Each call that is inlined gets a label of its own. Code that the compiler doubles afterwards
/// (loops, the way behind a branch) keeps one: so the label tells one barrier of the source from
/// another, which neither its line nor the address of the call does.
#define ONEPASS_BARRIER(Result, name, parameters, kind, predicate)                 \
  __forceinline__ Result name parameters {                                         \
  barrier:                                                                         \
    return static_cast<Result>(                                                    \
        simulator::block_barrier(simulator::Barrier::kind, predicate, &&barrier)); \
  }
ONEPASS_BARRIER(void, __syncthreads, (), plain, 0)
/// count: how many threads of the block gave a predicate that is not zero.
ONEPASS_BARRIER(int, __syncthreads_count, (int predicate), count, predicate != 0)
ONEPASS_BARRIER(int, __syncthreads_and, (int predicate), all, predicate != 0)
ONEPASS_BARRIER(int, __syncthreads_or, (int predicate), any, predicate != 0)
#undef ONEPASS_BARRIER

/// Number 0, for all threads of the block, is that of __syncthreads().
__forceinline__ void __barrier_sync_count(unsigned barrier, unsigned threads) {
  const unsigned all = (blockDim.x * blockDim.y * blockDim.z + 31) / 32 * 32;
  if (barrier == 0 && threads == all) {
    __syncthreads();
  } else {
    simulator::meet_at_named_barrier(barrier, threads);
  }
}
__forceinline__ void __barrier_sync(unsigned barrier) {
  __barrier_sync_count(barrier, (blockDim.x * blockDim.y * blockDim.z + 31) / 32 * 32);
}

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

// Waiting for the other threads of a block or a warp, and memory fences.
#pragma once

#include "indices.h"

__forceinline__ void __syncthreads() {
  simulator::block_barrier(simulator::Barrier::plain, 0);
}
/// How many threads of the block gave a predicate that is not zero.
__forceinline__ int __syncthreads_count(int predicate) {
  return simulator::block_barrier(simulator::Barrier::count, predicate != 0);
}
__forceinline__ int __syncthreads_and(int predicate) {
  return simulator::block_barrier(simulator::Barrier::all, predicate != 0);
}
__forceinline__ int __syncthreads_or(int predicate) {
  return simulator::block_barrier(simulator::Barrier::any, predicate != 0);
}

__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu) {
  simulator::warp_operation(simulator::WarpOperation::sync, mask, 0, 0, warpSize);
}

__forceinline__ void __threadfence_block() {
  simulator::memory_fence(simulator::FenceScope::block);
}
__forceinline__ void __threadfence() {
  simulator::memory_fence(simulator::FenceScope::device);
}
__forceinline__ void __threadfence_system() {
  simulator::memory_fence(simulator::FenceScope::system);
}

__forceinline__ void __nanosleep(unsigned) {
  simulator::yield();
}
__forceinline__ void __trap() {
  simulator::trap();
}
__forceinline__ void __brkpt() {
  simulator::trap();
}

// They grow, so that a loop that waits for them ends. They measure nothing.
__forceinline__ long long clock64() {
  return simulator::clock_ticks();
}

// What the lanes of a warp do together: shuffles, votes, reductions and matches.
//
// Each name is declared for the types that CUDA declares it for, and for no others, so that what
// compiles here compiles with nvcc. Half and bfloat16 add theirs in their own headers.
#pragma once

#include "bits.h"
#include "indices.h"

namespace simulator {

template <typename T>
__forceinline__ T warp_value(WarpOperation operation, unsigned mask, T value, int argument,
                             int width) {
  return from_bits<T>(warp_operation(operation, mask, to_bits(value), argument, width));
}

}  // namespace simulator

/// The four shuffles of one type.
#define ONEPASS_SHUFFLES(T)                                                                        \
  __forceinline__ T __shfl_sync(unsigned mask, T value, int source_lane, int width = warpSize) {   \
    return simulator::warp_value(simulator::WarpOperation::shuffle, mask, value, source_lane,      \
                                 width);                                                           \
  }                                                                                                \
  __forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) { \
    return simulator::warp_value(simulator::WarpOperation::shuffle_up, mask, value,                \
                                 static_cast<int>(delta), width);                                  \
  }                                                                                                \
  __forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta,                       \
                                     int width = warpSize) {                                       \
    return simulator::warp_value(simulator::WarpOperation::shuffle_down, mask, value,              \
                                 static_cast<int>(delta), width);                                  \
  }                                                                                                \
  __forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) { \
    return simulator::warp_value(simulator::WarpOperation::shuffle_xor, mask, value, lane_mask,    \
                                 width);                                                           \
  }

ONEPASS_SHUFFLES(int)
ONEPASS_SHUFFLES(unsigned)
ONEPASS_SHUFFLES(long)
ONEPASS_SHUFFLES(unsigned long)
ONEPASS_SHUFFLES(long long)
ONEPASS_SHUFFLES(unsigned long long)
ONEPASS_SHUFFLES(float)
ONEPASS_SHUFFLES(double)

// ---- Votes

__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(simulator::warp_operation(simulator::WarpOperation::ballot, mask,
                                                         predicate != 0, 0, warpSize));
}
__forceinline__ int __any_sync(unsigned mask, int predicate) {
  return static_cast<int>(
      simulator::warp_operation(simulator::WarpOperation::any, mask, predicate != 0, 0, warpSize));
}
__forceinline__ int __all_sync(unsigned mask, int predicate) {
  return static_cast<int>(
      simulator::warp_operation(simulator::WarpOperation::all, mask, predicate != 0, 0, warpSize));
}
__forceinline__ unsigned __activemask() {
  return simulator::active_mask();
}

// ---- Reductions

#define ONEPASS_WARP_REDUCTION(name, T, operation)                                               \
  __forceinline__ T name(unsigned mask, T value) {                                               \
    return simulator::warp_value(simulator::WarpOperation::operation, mask, value, 0, warpSize); \
  }
ONEPASS_WARP_REDUCTION(__reduce_add_sync, unsigned, add_unsigned)
ONEPASS_WARP_REDUCTION(__reduce_add_sync, int, add_signed)
ONEPASS_WARP_REDUCTION(__reduce_min_sync, unsigned, min_unsigned)
ONEPASS_WARP_REDUCTION(__reduce_min_sync, int, min_signed)
ONEPASS_WARP_REDUCTION(__reduce_max_sync, unsigned, max_unsigned)
ONEPASS_WARP_REDUCTION(__reduce_max_sync, int, max_signed)
ONEPASS_WARP_REDUCTION(__reduce_and_sync, unsigned, bit_and)
ONEPASS_WARP_REDUCTION(__reduce_or_sync, unsigned, bit_or)
ONEPASS_WARP_REDUCTION(__reduce_xor_sync, unsigned, bit_xor)
#undef ONEPASS_WARP_REDUCTION

// ---- Matches

#define ONEPASS_MATCHES(T)                                                                   \
  __forceinline__ unsigned __match_any_sync(unsigned mask, T value) {                        \
    return static_cast<unsigned>(simulator::warp_operation(                                  \
        simulator::WarpOperation::match_any, mask, simulator::to_bits(value), 0, warpSize)); \
  }                                                                                          \
  __forceinline__ unsigned __match_all_sync(unsigned mask, T value, int* all_equal) {        \
    const unsigned equal = static_cast<unsigned>(simulator::warp_operation(                  \
        simulator::WarpOperation::match_all, mask, simulator::to_bits(value), 0, warpSize)); \
    *all_equal = equal != 0;                                                                 \
    return equal;                                                                            \
  }
ONEPASS_MATCHES(int)
ONEPASS_MATCHES(unsigned)
ONEPASS_MATCHES(long)
ONEPASS_MATCHES(unsigned long)
ONEPASS_MATCHES(long long)
ONEPASS_MATCHES(unsigned long long)
ONEPASS_MATCHES(float)
ONEPASS_MATCHES(double)
#undef ONEPASS_MATCHES

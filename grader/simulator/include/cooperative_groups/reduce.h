// cooperative_groups::reduce(tile, value, operation) and its operations.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

#define ONEPASS_REDUCTION(name, expression)             \
  template <typename T>                                 \
  struct name {                                         \
    T operator()(T a, T b) const { return expression; } \
  };
ONEPASS_REDUCTION(plus, a + b)
ONEPASS_REDUCTION(less, b < a ? b : a)
ONEPASS_REDUCTION(greater, a < b ? b : a)
ONEPASS_REDUCTION(bit_and, a& b)
ONEPASS_REDUCTION(bit_or, a | b)
ONEPASS_REDUCTION(bit_xor, a ^ b)
#undef ONEPASS_REDUCTION

/// In every thread of the tile the combination of all values, in an order that is the same for all.
template <unsigned size, typename Parent, typename T, typename Operation>
__forceinline__ T reduce(const thread_block_tile<size, Parent>& tile, T value,
                         Operation operation) {
  for (unsigned distance = size / 2; distance > 0; distance /= 2) {
    value = operation(value, tile.shfl_xor(value, distance));
  }
  return value;
}

template <typename T, typename Operation>
__forceinline__ T reduce(const coalesced_group& group, T value, Operation operation) {
  T result = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.num_threads(); ++rank) {
    result = operation(result, group.shfl(value, rank));
  }
  return result;
}

}  // namespace cooperative_groups

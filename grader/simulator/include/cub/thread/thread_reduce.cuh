// cub::ThreadReduce(): the elements of an array, one after another.
#pragma once

#include "thread_operators.cuh"

namespace cub {

template <typename T, int count, typename Operation>
__forceinline__ T ThreadReduce(const T (&values)[count], Operation operation) {
  T result = values[0];
  for (int i = 1; i < count; ++i) result = operation(result, values[i]);
  return result;
}
template <typename T, int count, typename Operation>
__forceinline__ T ThreadReduce(const T (&values)[count], Operation operation, T before) {
  return operation(before, ThreadReduce(values, operation));
}

}  // namespace cub

// Values as bits and back, for the calls that move them through the runtime.
#pragma once

#include <stdint.h>

#include "qualifiers.h"

namespace simulator {

/// The bits of a value of up to 8 bytes, zero-extended.
template <typename T>
__forceinline__ uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "this type is too large for one operation");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename T>
__forceinline__ T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

}  // namespace simulator

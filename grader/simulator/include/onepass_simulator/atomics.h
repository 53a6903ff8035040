// Atomic read-modify-write operations.
//
// Each is one call of the runtime with the address, the operand, and a pure function from the old
// bits to the new ones. The answer is the old value. The _block and _system variants differ in to
// whom the operation is one: what another block does to the word comes between the load and the
// store of a _block variant.
#pragma once

#include "bits.h"
#include "indices.h"
#include "vector_types.h"

namespace simulator {

// One static function an operation: Update<T>::add and so on, on bits.
template <typename T>
struct Update {
  static uint64_t add(uint64_t old, uint64_t operand, uint64_t) {
    return to_bits<T>(from_bits<T>(old) + from_bits<T>(operand));
  }
  static uint64_t subtract(uint64_t old, uint64_t operand, uint64_t) {
    return to_bits<T>(from_bits<T>(old) - from_bits<T>(operand));
  }
  static constexpr AtomicUpdate exchange = nullptr;
  static uint64_t minimum(uint64_t old, uint64_t operand, uint64_t) {
    return from_bits<T>(operand) < from_bits<T>(old) ? operand : old;
  }
  static uint64_t maximum(uint64_t old, uint64_t operand, uint64_t) {
    return from_bits<T>(operand) > from_bits<T>(old) ? operand : old;
  }
  static uint64_t increment(uint64_t old, uint64_t limit, uint64_t) {
    return old >= limit ? 0 : old + 1;
  }
  static uint64_t decrement(uint64_t old, uint64_t limit, uint64_t) {
    return old == 0 || old > limit ? limit : old - 1;
  }
  static uint64_t bit_and(uint64_t old, uint64_t operand, uint64_t) { return old & operand; }
  static uint64_t bit_or(uint64_t old, uint64_t operand, uint64_t) { return old | operand; }
  static uint64_t bit_xor(uint64_t old, uint64_t operand, uint64_t) { return old ^ operand; }
};

// Sums of these wrap around.
template <>
inline uint64_t Update<int>::add(uint64_t old, uint64_t operand, uint64_t) {
  return static_cast<uint32_t>(old + operand);
}
template <>
inline uint64_t Update<int>::subtract(uint64_t old, uint64_t operand, uint64_t) {
  return static_cast<uint32_t>(old - operand);
}

template <typename T>
__forceinline__ T atomic(T* address, AtomicUpdate update, T operand, FenceScope scope,
                         uint64_t comparand = 0) {
  return from_bits<T>(
      used(atomic_update(address, sizeof(T), update, to_bits(operand), comparand, scope)));
}

}  // namespace simulator

/// One atomic function of one type, in its three scopes.
#define ONEPASS_ATOMIC_IN_SCOPE(name, T, operation, scope)                    \
  __forceinline__ T name(T* address, T value) {                               \
    return simulator::atomic(address, simulator::Update<T>::operation, value, \
                             simulator::FenceScope::scope);                   \
  }
#define ONEPASS_ATOMIC(name, T, operation)                   \
  ONEPASS_ATOMIC_IN_SCOPE(name, T, operation, device)        \
  ONEPASS_ATOMIC_IN_SCOPE(name##_block, T, operation, block) \
  ONEPASS_ATOMIC_IN_SCOPE(name##_system, T, operation, system)

#define ONEPASS_COMPARE_AND_SWAP_IN_SCOPE(name, T, scope)                                \
  __forceinline__ T name(T* address, T compare, T value) {                               \
    return simulator::atomic(address, &simulator::compare_and_swap, value,               \
                             simulator::FenceScope::scope, simulator::to_bits(compare)); \
  }
#define ONEPASS_COMPARE_AND_SWAP(T)                            \
  ONEPASS_COMPARE_AND_SWAP_IN_SCOPE(atomicCAS, T, device)      \
  ONEPASS_COMPARE_AND_SWAP_IN_SCOPE(atomicCAS_block, T, block) \
  ONEPASS_COMPARE_AND_SWAP_IN_SCOPE(atomicCAS_system, T, system)

#define ONEPASS_ATOMIC_INTEGER(T)         \
  ONEPASS_ATOMIC(atomicExch, T, exchange) \
  ONEPASS_ATOMIC(atomicMin, T, minimum)   \
  ONEPASS_ATOMIC(atomicMax, T, maximum)   \
  ONEPASS_ATOMIC(atomicAnd, T, bit_and)   \
  ONEPASS_ATOMIC(atomicOr, T, bit_or)     \
  ONEPASS_ATOMIC(atomicXor, T, bit_xor)   \
  ONEPASS_COMPARE_AND_SWAP(T)

ONEPASS_ATOMIC_INTEGER(int)
ONEPASS_ATOMIC_INTEGER(unsigned)
ONEPASS_ATOMIC_INTEGER(unsigned long long)
ONEPASS_ATOMIC(atomicMin, long long, minimum)
ONEPASS_ATOMIC(atomicMax, long long, maximum)
ONEPASS_ATOMIC(atomicAnd, long long, bit_and)
ONEPASS_ATOMIC(atomicOr, long long, bit_or)
ONEPASS_ATOMIC(atomicXor, long long, bit_xor)
ONEPASS_ATOMIC(atomicAdd, int, add)
ONEPASS_ATOMIC(atomicAdd, unsigned, add)
ONEPASS_ATOMIC(atomicAdd, unsigned long long, add)
ONEPASS_ATOMIC(atomicAdd, float, add)
ONEPASS_ATOMIC(atomicAdd, double, add)
ONEPASS_ATOMIC(atomicSub, int, subtract)
ONEPASS_ATOMIC(atomicSub, unsigned, subtract)
ONEPASS_ATOMIC(atomicInc, unsigned, increment)
ONEPASS_ATOMIC(atomicDec, unsigned, decrement)
ONEPASS_ATOMIC(atomicExch, float, exchange)
ONEPASS_COMPARE_AND_SWAP(unsigned short)

// GPUs before sm_90 have no such atomics.
#define ONEPASS_REFUSED_ATOMIC(T)                                                             \
  template <typename Unused = void>                                                           \
  T atomicAdd(T*, T) {                                                                        \
    static_assert(sizeof(Unused*) == 0,                                                       \
                  "atomicAdd() of " #T " cannot be simulated on a CPU: grade this on a GPU"); \
    return {};                                                                                \
  }
ONEPASS_REFUSED_ATOMIC(float2)
ONEPASS_REFUSED_ATOMIC(float4)
#undef ONEPASS_REFUSED_ATOMIC

#undef ONEPASS_ATOMIC_INTEGER

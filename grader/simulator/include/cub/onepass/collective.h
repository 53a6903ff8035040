// What CUB's collectives have in common: their storage, the shape of the block, and results that
// only some of the threads have.
#pragma once

#include <string.h>

#include <cuda/functional>
#include <type_traits>

#include "../../onepass_simulator/barriers.h"
#include "../../onepass_simulator/warp.h"

// Before each load and store the compiler calls these; here, for one that CUB might do.
extern "C" {
void __tsan_read1(void*) noexcept;
void __tsan_write1(void*) noexcept;
}

#define CUB_VERSION 300001
#define CUB_PTX_WARP_THREADS 32

namespace cub {

/// Memory for a T that no constructor has touched. So it may be __shared__, and lie in a union.
template <typename T>
struct Uninitialized {
  alignas(T) unsigned char bytes[sizeof(T)];

  __forceinline__ T& Alias() { return *reinterpret_cast<T*>(bytes); }
};

namespace detail {

/// The storage of what needs none.
struct NoStorage {};

/// The storage of a collective that was given none: one for each kind and block.
template <typename TempStorage>
__forceinline__ TempStorage& private_storage() {
  static __shared__ TempStorage storage;
  return storage;
}

/// Ends the kernel if the block is of another shape. For its first `valid` threads alone, one with
/// fewer threads will do: much code has cub::BlockReduce<float, 1024> for all blocks, and gives
/// blockDim.x as num_valid.
template <int x, int y, int z>
__forceinline__ void check_block_shape(const char* collective, int valid = x * y * z) {
  const bool is_same = blockDim.x == x && blockDim.y == y && blockDim.z == z;
  const bool is_enough = y * z == 1 && blockDim.y * blockDim.z == 1 && blockDim.x < x &&
                         valid <= static_cast<int>(blockDim.x);
  if (__builtin_expect(!is_same && !is_enough, 0)) {
    simulator::wrong_block_shape(collective, {x, y, z});
  }
}

/// The calling thread's number, and that of all there are.
__forceinline__ int thread_in_block() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
__forceinline__ int threads_of_block() {
  return static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}

/// What the other threads get where one has the result. On a GPU it is what was left in a register;
/// here bits that the simulator knows again wherever they have been stored.
template <typename T>
__forceinline__ T undefined_result(T value, const char* collective) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    simulator::make_undefined(&value, sizeof value, collective);
  }
  return value;
}

// ---- Lanes

/// The value of another lane, of any type.
template <typename T>
__forceinline__ T value_of_lane(unsigned mask, T value, int lane) {
  if constexpr (sizeof(T) <= 8) {
    return simulator::warp_value(simulator::WarpOperation::shuffle, mask, value, lane, 32);
  } else {
    constexpr size_t words = (sizeof(T) + 7) / 8;
    uint64_t bits[words] = {};
    __builtin_memcpy(bits, &value, sizeof value);
    for (size_t i = 0; i < words; ++i) {
      bits[i] =
          simulator::warp_operation(simulator::WarpOperation::shuffle, mask, bits[i], lane, 32);
    }
    __builtin_memcpy(static_cast<void*>(&value), bits, sizeof value);
    return value;
  }
}

/// Neighbouring lanes that reduce or scan together: as many as a logical warp has, fewer at the end
/// of a block that is no multiple of it.
struct Lanes {
  int first, count;  // in their warp
  int rank;          // of the caller

  __forceinline__ unsigned mask() const {
    return (count >= 32 ? 0xffffffffu : (1u << count) - 1) << first;
  }
  template <typename T>
  __forceinline__ T value_of(int other, T value) const {
    return value_of_lane(mask(), value, first + other);
  }
};

/// Of a warp of the block.
__forceinline__ Lanes lanes_of_warp(int thread) {
  const int rest = threads_of_block() - thread / 32 * 32;
  return {0, rest < 32 ? rest : 32, thread % 32};
}

/// Of a logical warp of the warp.
template <int threads>
__forceinline__ Lanes lanes_of_logical_warp() {
  const int lane = thread_in_block() % 32;
  const int first = lane / threads * threads;
  return {first, first + threads <= 32 ? threads : 32 - first, lane % threads};
}

/// In the first lane the values of the first `valid` ones together, in their order.
template <typename T, typename Operation>
__forceinline__ T reduce_lanes(const Lanes& lanes, T value, int valid, Operation operation) {
  for (int distance = 1; distance < lanes.count; distance *= 2) {
    const bool has_other = lanes.rank + distance < valid && lanes.rank + distance < lanes.count;
    const T other = lanes.value_of(has_other ? lanes.rank + distance : lanes.rank, value);
    if (has_other) value = operation(value, other);
  }
  return value;
}

/// In each lane its value and those of the lanes before it.
template <typename T, typename Operation>
__forceinline__ T scan_lanes(const Lanes& lanes, T value, Operation operation) {
  for (int distance = 1; distance < lanes.count; distance *= 2) {
    const bool has_other = lanes.rank >= distance;
    const T other = lanes.value_of(has_other ? lanes.rank - distance : lanes.rank, value);
    if (has_other) value = operation(other, value);
  }
  return value;
}

}  // namespace detail
}  // namespace cub

// What the rewriter makes of inline PTX: the functions that its table of instructions names
// (rewriter/ptx_table.cpp), where CUDA has none of its own that does the same.
//
// A register holds bits, of a type that its constraint gives; an instruction has a type of its own.
// get() and put() go between the two.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "clusters.h"

namespace simulator {
namespace ptx {

// ---- Operands of asm statements

template <typename T>
struct IsPointer {
  static constexpr bool value = false;
};
template <typename T>
struct IsPointer<T*> {
  static constexpr bool value = true;
};
/// bool, char and so on, with any qualifiers; no class.
template <typename T>
constexpr bool is_scalar = __is_enum(T) || IsPointer<T>::value || !(__is_class(T) || __is_union(T));
template <typename T>
constexpr bool is_real = false;
template <>
constexpr bool is_real<float> = true;
template <>
constexpr bool is_real<double> = true;

/// In nvcc's words.
template <typename Register, typename T>
constexpr void check_operand() {
  static_assert(is_scalar<T>, "an asm operand must have scalar type");
  static_assert(!is_scalar<T> || (sizeof(T) == sizeof(Register) && is_real<T> == is_real<Register>),
                "asm operand type size does not match type/size implied by its constraint: \"h\" "
                "is for integers of 16 bits, \"r\" of 32, \"l\" of 64 and pointers, \"f\" for "
                "float, \"d\" for double");
}

template <typename Register, typename T>
__forceinline__ Register input(T value) {
  check_operand<Register, T>();
  return from_bits<Register>(to_bits(value));
}

/// The place of a result, by the type of its register.
template <typename Register>
struct Aliased {
  typedef Register Type __attribute__((may_alias));
};
template <typename Register, typename T>
__forceinline__ typename Aliased<Register>::Type& output(T& place) {
  check_operand<Register, T>();
  return reinterpret_cast<typename Aliased<Register>::Type&>(place);
}

// ---- Registers

/// What is in a register that nobody has written: no useful number.
template <typename T>
__forceinline__ T unset() {
  return from_bits<T>(0xc5c5c5c5c5c5c5c5);
}
template <>
__forceinline__ bool unset<bool>() {
  return true;
}

template <typename T, typename Register>
__forceinline__ T get(Register place) {
  return from_bits<T>(to_bits(place));
}
template <typename T>
constexpr bool is_signed_integer = false;
template <>
constexpr bool is_signed_integer<signed char> = true;
template <>
constexpr bool is_signed_integer<short> = true;
template <>
constexpr bool is_signed_integer<int> = true;
/// In a wider register a signed number stays the number that it is.
template <typename T, typename Register>
__forceinline__ void put(Register& place, T value) {
  if constexpr (is_signed_integer<T> && sizeof(T) < sizeof(Register)) {
    place = static_cast<Register>(value);
  } else {
    place = from_bits<Register>(to_bits(value));
  }
}

/// The first part is the lowest.
template <typename T, typename... Registers>
__forceinline__ T join(Registers... parts) {
  unsigned shift = 0;
  unsigned long long bits = 0;
  ((bits |= to_bits(parts) << shift, shift += 8 * sizeof(Registers)), ...);
  return from_bits<T>(bits);
}
template <typename T, typename... Registers>
__forceinline__ void split(T value, Registers&... parts) {
  unsigned long long bits = to_bits(value);
  ((parts = from_bits<Registers>(bits),
    bits = bits >> (4 * sizeof(Registers)) >> (4 * sizeof(Registers))),
   ...);
}

// ---- Addresses

template <typename Integer>
__forceinline__ void* pointer(Integer address) {
  return reinterpret_cast<void*>(address);
}
__forceinline__ unsigned long long address(const void* pointer) {
  return reinterpret_cast<unsigned long long>(pointer);
}
__forceinline__ void* anywhere_at(unsigned long long address) {
  return pointer(address);
}
__forceinline__ void* shared_at(unsigned long long address) {
  return shared_pointer(address);
}
__forceinline__ void* global_at(unsigned long long address) {
  return global_pointer(pointer(address));
}

// ---- Loads and stores: one access, however many registers take part

template <typename T, typename... Registers>
__forceinline__ void load(const void* memory, Registers&... places) {
  const AccessedWords words = simulator::load(memory, sizeof...(places) * sizeof(T));
  unsigned shift = 0;
  ((put(places, from_bits<T>((shift < 64 ? words.low : words.high) >> shift % 64)),
    shift += 8 * sizeof(T)),
   ...);
}
/// ld.global.nc
template <typename T, typename... Registers>
__forceinline__ void load_read_only(const void* memory, Registers&... places) {
  load<T>(read_only(memory, sizeof...(places) * sizeof(T)), places...);
}
template <typename T, typename... Values>
__forceinline__ AccessedWords words_of(Values... values) {
  AccessedWords words = {0, 0};
  unsigned shift = 0;
  (((shift < 64 ? words.low : words.high) |= to_bits(static_cast<T>(values)) << shift % 64,
    shift += 8 * sizeof(T)),
   ...);
  return words;
}
template <typename T, typename... Values>
__forceinline__ void store(void* memory, Values... values) {
  simulator::store(memory, sizeof...(values) * sizeof(T), words_of<T>(values...));
}

/// st.async
template <typename T, typename... Values>
__forceinline__ void store_async(void* memory, void* barrier, Values... values) {
  simulator::store_async(memory, sizeof...(values) * sizeof(T), words_of<T>(values...), barrier);
}

template <typename T>
__forceinline__ T load_volatile(void* memory) {
  return *static_cast<const volatile T*>(memory);
}
template <typename T>
__forceinline__ void store_volatile(void* memory, T value) {
  *static_cast<volatile T*>(memory) = value;
}

// ---- Atomics: to the simulator what those of cuda::atomic_ref are

enum class Order { relaxed, acquire, release, acq_rel };

template <typename T>
__forceinline__ T atomic(Order order, FenceScope scope, void* memory, AtomicUpdate update,
                         T operand, T comparand = T()) {
  if (order == Order::release || order == Order::acq_rel) memory_fence(scope);
  const T found =
      simulator::atomic(static_cast<T*>(memory), update, operand, scope, to_bits(comparand));
  if (order == Order::acquire || order == Order::acq_rel) acquire_memory(scope);
  return found;
}

// ---- Arithmetic

/// Numbers below the least normal one are zero, and keep their sign.
__forceinline__ float flushed(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}
/// What would be infinite is the largest number.
template <typename Narrow>
__forceinline__ Narrow finite(Narrow x) {
  const unsigned bits = static_cast<unsigned>(to_bits(x));
  const unsigned infinity = static_cast<unsigned>(to_bits(Narrow(HUGE_VALF)));
  return (bits & 0x7fff) == infinity ? from_bits<Narrow>(bits - 1) : x;
}
/// A shift by more than the width leaves nothing but the sign.
template <typename T>
__forceinline__ T shifted_left(T value, unsigned places) {
  return places < 8 * sizeof(T) ? static_cast<T>(value << places) : T(0);
}
template <typename T>
__forceinline__ T shifted_right(T value, unsigned places) {
  constexpr unsigned most = 8 * sizeof(T) - 1;
  return places > most ? static_cast<T>(value >> most >> (static_cast<T>(-1) > 0))
                       : static_cast<T>(value >> places);
}
__forceinline__ signed char to_byte(float x) {
  const int whole = __float2int_rn(x);
  return static_cast<signed char>(whole < -128 ? -128 : whole > 127 ? 127 : whole);
}

// ---- Barriers in shared memory

/// The thread's copies arrive in its stead, when they have landed: who waits for the phase waits
/// for them.
__forceinline__ void arrive_with_copies(void* barrier) {
  copies_arrive(barrier);
  arrive_at_barrier(barrier, 1, false);
}
__forceinline__ unsigned long long arrive_expecting(void* barrier, unsigned bytes,
                                                    BarrierOf whose = BarrierOf::own_block) {
  expect_bytes(barrier, bytes, whose);
  return arrive_at_barrier(barrier, 1, false, whose);
}

// ---- Warps

__forceinline__ unsigned lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
/// All lanes of the mask come, and the lowest is their leader. It orders no memory.
__forceinline__ unsigned elect(unsigned mask, bool& is_leader) {
  const auto leader =
      static_cast<unsigned>(warp_operation(WarpOperation::elect, mask, 0, 0, warpSize));
  is_leader = leader == lane();
  return leader;
}
/// How many lanes a part of the warp has, by the third operand of shfl.sync.
__forceinline__ int width(unsigned segment) {
  return static_cast<int>(32 - (segment >> 8 & 31));
}

}  // namespace ptx
}  // namespace simulator

// What g++ -fsanitize=thread calls in place of std::atomic's and the __atomic_ built-ins' code, of
// 1 to 16 bytes. In a kernel they are checked as CUDA's atomics are.
#include <cstdint>
#include <cstring>

#include "access/access.h"

namespace {

using simulator::AccessType;
using simulator::CodeAddress;

template <typename T>
T load(const volatile T* address) {
  T value;
  std::memcpy(&value, const_cast<const T*>(address), sizeof value);
  return value;
}

template <typename T>
void store(volatile T* address, T value) {
  std::memcpy(const_cast<T*>(address), &value, sizeof value);
}

void check(const volatile void* address, unsigned bytes, AccessType type, CodeAddress site) {
  simulator::check_access(
      {reinterpret_cast<std::uintptr_t>(address), bytes, bytes, type, site, true});
}

template <typename T>
int compare_exchange(volatile T* address, T* expected, T desired) {
  const T old = load(address);
  if (old == *expected) {
    store(address, desired);
    return 1;
  }
  *expected = old;
  return 0;
}

}  // namespace

#define ONEPASS_CHECK(type)                         \
  check(address, sizeof *address, AccessType::type, \
        reinterpret_cast<CodeAddress>(__builtin_return_address(0)))

#define ONEPASS_FETCH(bits, T, name, expression)                            \
  T __tsan_atomic##bits##_fetch_##name(volatile T* address, T value, int) { \
    ONEPASS_CHECK(atomic);                                                  \
    const T old = load(address);                                            \
    store(address, static_cast<T>(expression));                             \
    return old;                                                             \
  }

#define ONEPASS_STANDARD_ATOMICS(bits, T)                                                         \
  T __tsan_atomic##bits##_load(const volatile T* address, int) {                                  \
    ONEPASS_CHECK(atomic);                                                                        \
    return load(address);                                                                         \
  }                                                                                               \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int) {                           \
    ONEPASS_CHECK(atomic);                                                                        \
    store(address, value);                                                                        \
  }                                                                                               \
  T __tsan_atomic##bits##_exchange(volatile T* address, T value, int) {                           \
    ONEPASS_CHECK(atomic);                                                                        \
    const T old = load(address);                                                                  \
    store(address, value);                                                                        \
    return old;                                                                                   \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* address, T* expected, T value,    \
                                                    int, int) {                                   \
    ONEPASS_CHECK(atomic);                                                                        \
    return compare_exchange(address, expected, value);                                            \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* address, T* expected, T value, int, \
                                                  int) {                                          \
    ONEPASS_CHECK(atomic);                                                                        \
    return compare_exchange(address, expected, value);                                            \
  }                                                                                               \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* address, T expected, T value, int,     \
                                               int) {                                             \
    ONEPASS_CHECK(atomic);                                                                        \
    compare_exchange(address, &expected, value);                                                  \
    return expected;                                                                              \
  }                                                                                               \
  ONEPASS_FETCH(bits, T, add, old + value)                                                        \
  ONEPASS_FETCH(bits, T, sub, old - value)                                                        \
  ONEPASS_FETCH(bits, T, and, old& value)                                                         \
  ONEPASS_FETCH(bits, T, or, old | value)                                                         \
  ONEPASS_FETCH(bits, T, xor, old ^ value)                                                        \
  ONEPASS_FETCH(bits, T, nand, ~(old & value))

__extension__ using Bits128 = unsigned __int128;

extern "C" {

ONEPASS_STANDARD_ATOMICS(8, std::uint8_t)
ONEPASS_STANDARD_ATOMICS(16, std::uint16_t)
ONEPASS_STANDARD_ATOMICS(32, std::uint32_t)
ONEPASS_STANDARD_ATOMICS(64, std::uint64_t)
ONEPASS_STANDARD_ATOMICS(128, Bits128)

void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"

// What g++ -fsanitize=thread calls in place of std::atomic's and the __atomic_ built-ins' code, of
// 1 to 16 bytes. In a kernel they are checked as CUDA's atomics are.
#include <cstdint>

#include "access/access.h"

namespace {

using simulator::AccessType;
using simulator::CodeAddress;

void check(const volatile void* address, unsigned bytes, CodeAddress site,
           const void* expected = nullptr) {
  simulator::Access access = {
      reinterpret_cast<std::uintptr_t>(address), bytes, bytes, AccessType::atomic, site, true};
  access.expected = expected;
  simulator::check_access(access);
}

}  // namespace

#define ONEPASS_SITE reinterpret_cast<CodeAddress>(__builtin_return_address(0))
#define ONEPASS_CHECK check(address, sizeof *address, ONEPASS_SITE)

/// What leaves the value of an expression in memory, and gives the old one.
#define ONEPASS_UPDATE(bits, T, name, expression)                     \
  T __tsan_atomic##bits##_##name(volatile T* address, T value, int) { \
    ONEPASS_CHECK;                                                    \
    const T old = *address;                                           \
    *address = static_cast<T>(expression);                            \
    return old;                                                       \
  }

#define ONEPASS_COMPARE_EXCHANGE(bits, T, strength)                                       \
  int __tsan_atomic##bits##_compare_exchange_##strength(volatile T* address, T* expected, \
                                                        T desired, int, int) {            \
    check(address, sizeof *address, ONEPASS_SITE, expected);                              \
    const T old = *address;                                                               \
    const bool is_equal = old == *expected;                                               \
    if (is_equal) *address = desired;                                                     \
    if (!is_equal) *expected = old;                                                       \
    return is_equal;                                                                      \
  }

#define ONEPASS_STANDARD_ATOMICS(bits, T)                               \
  T __tsan_atomic##bits##_load(const volatile T* address, int) {        \
    ONEPASS_CHECK;                                                      \
    return *address;                                                    \
  }                                                                     \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int) { \
    ONEPASS_CHECK;                                                      \
    *address = value;                                                   \
  }                                                                     \
  ONEPASS_COMPARE_EXCHANGE(bits, T, strong)                             \
  ONEPASS_COMPARE_EXCHANGE(bits, T, weak)                               \
  ONEPASS_UPDATE(bits, T, exchange, value)                              \
  ONEPASS_UPDATE(bits, T, fetch_add, old + value)                       \
  ONEPASS_UPDATE(bits, T, fetch_sub, old - value)                       \
  ONEPASS_UPDATE(bits, T, fetch_and, old& value)                        \
  ONEPASS_UPDATE(bits, T, fetch_or, old | value)                        \
  ONEPASS_UPDATE(bits, T, fetch_xor, old ^ value)                       \
  ONEPASS_UPDATE(bits, T, fetch_nand, ~(old & value))

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

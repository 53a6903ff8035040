// Integer and bit intrinsics: __popc, __clz, __byte_perm, __float_as_int and their kin.
#pragma once

#include "bits.h"

ONEPASS_INTRINSIC(int, __popc, (unsigned x), __builtin_popcount(x))
ONEPASS_INTRINSIC(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
ONEPASS_INTRINSIC(int, __clz, (int x), x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)))
ONEPASS_INTRINSIC(int, __clzll, (long long x),
                  x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)))
ONEPASS_INTRINSIC(int, __ffs, (int x), __builtin_ffs(x))
ONEPASS_INTRINSIC(int, __ffsll, (long long x), __builtin_ffsll(x))

__forceinline__ unsigned __brev(unsigned x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(x);
}
__forceinline__ unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

/// Four bytes out of the eight of y:x, one for each digit of the selector; a digit's top bit asks
/// for the byte's sign in all eight bits.
__forceinline__ unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned digit = selector >> (4 * i) & 0xf;
    const unsigned byte = static_cast<unsigned>(bytes >> (8 * (digit & 7))) & 0xff;
    result |= (digit & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return result;
}

__forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? high : high << shift | low >> (32 - shift);
}
__forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? low : low >> shift | high << (32 - shift);
}
__forceinline__ unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
__forceinline__ unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

__forceinline__ int __mulhi(int x, int y) {
  return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
__forceinline__ unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
__forceinline__ long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
__forceinline__ unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
__forceinline__ int __mul24(int x, int y) {
  return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * static_cast<unsigned>(y << 8 >> 8));
}
__forceinline__ unsigned __umul24(unsigned x, unsigned y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
__forceinline__ unsigned __sad(int x, int y, unsigned z) {
  return (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y)
                : static_cast<unsigned>(y) - static_cast<unsigned>(x)) +
         z;
}
__forceinline__ unsigned __usad(unsigned x, unsigned y, unsigned z) {
  return (x > y ? x - y : y - x) + z;
}
__forceinline__ int __hadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
__forceinline__ int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}

// ---- The same bits as another type

#define ONEPASS_SAME_BITS(To, name, From) \
  ONEPASS_INTRINSIC(To, name, (From x), simulator::from_bits<To>(simulator::to_bits(x)))
ONEPASS_SAME_BITS(int, __float_as_int, float)
ONEPASS_SAME_BITS(unsigned, __float_as_uint, float)
ONEPASS_SAME_BITS(float, __int_as_float, int)
ONEPASS_SAME_BITS(float, __uint_as_float, unsigned)
ONEPASS_SAME_BITS(long long, __double_as_longlong, double)
ONEPASS_SAME_BITS(double, __longlong_as_double, long long)
#undef ONEPASS_SAME_BITS

__forceinline__ int __double2hiint(double x) {
  return static_cast<int>(simulator::to_bits(x) >> 32);
}
__forceinline__ int __double2loint(double x) {
  return static_cast<int>(simulator::to_bits(x));
}
__forceinline__ double __hiloint2double(int high, int low) {
  return simulator::from_bits<double>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 |
                                      static_cast<unsigned>(low));
}

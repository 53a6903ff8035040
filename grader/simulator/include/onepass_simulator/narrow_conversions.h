// Conversions that half and bfloat16 have under names of their own, such as __float2half_rz and
// __bfloat162int_rn. `name` is how a type is called in them: half or bfloat16.
#pragma once

#include "atomics.h"
#include "memory_hints.h"
#include "narrow_formats.h"
#include "warp.h"

namespace simulator {

// What the saturating, maximum and rectifying operations do, in double.
inline double saturated(double x) {
  return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
}  // NaN gives 0
inline double rectified(double x) {
  return x < 0 ? 0.0 : x;
}
/// A NaN gives way to a number, and minus zero to zero.
inline double larger(double x, double y) {
  if (x != x || y != y) {
    return x != x ? y : x;
  }
  return x > y || (x == y && !__builtin_signbit(x)) ? x : y;
}

}  // namespace simulator

#define ONEPASS_FROM_INTEGER(Narrow, name, integer, T, suffix, rounding)                           \
  __forceinline__ Narrow __##integer##2##name##suffix(T x) {                                       \
    return simulator::rounded<Narrow>(simulator::to_odd_double(x), simulator::Rounding::rounding); \
  }
#define ONEPASS_TO_INTEGER(Narrow, name, integer, T, suffix, rounding)                     \
  __forceinline__ T __##name##2##integer##suffix(Narrow x) {                               \
    return simulator::to_integer<T>(static_cast<float>(x), simulator::Rounding::rounding); \
  }
#define ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, integer, T)                  \
  Macro(Narrow, name, integer, T, _rn, nearest) Macro(Narrow, name, integer, T, _rz, zero) \
      Macro(Narrow, name, integer, T, _rd, down) Macro(Narrow, name, integer, T, _ru, up)
#define ONEPASS_INTEGERS(Macro, Narrow, name)                                   \
  ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, short, short)           \
  ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, ushort, unsigned short) \
  ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, int, int)               \
  ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, uint, unsigned)         \
  ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, ll, long long)          \
  ONEPASS_INTEGER_IN_ALL_ROUNDINGS(Macro, Narrow, name, ull, unsigned long long)

/// All conversions of one type.
#define ONEPASS_NARROW_CONVERSIONS(Narrow, Raw, name)                \
  __forceinline__ Narrow __float2##name(float x) {                   \
    return Narrow(x);                                                \
  }                                                                  \
  __forceinline__ Narrow __float2##name##_rn(float x) {              \
    return Narrow(x);                                                \
  }                                                                  \
  __forceinline__ Narrow __float2##name##_rz(float x) {              \
    return simulator::rounded<Narrow>(x, simulator::Rounding::zero); \
  }                                                                  \
  __forceinline__ Narrow __float2##name##_rd(float x) {              \
    return simulator::rounded<Narrow>(x, simulator::Rounding::down); \
  }                                                                  \
  __forceinline__ Narrow __float2##name##_ru(float x) {              \
    return simulator::rounded<Narrow>(x, simulator::Rounding::up);   \
  }                                                                  \
  __forceinline__ Narrow __double2##name(double x) {                 \
    return Narrow(x);                                                \
  }                                                                  \
  __forceinline__ float __##name##2float(Narrow x) {                 \
    return x;                                                        \
  }                                                                  \
  __forceinline__ short __##name##_as_short(Narrow x) {              \
    return static_cast<short>(static_cast<Raw>(x).x);                \
  }                                                                  \
  __forceinline__ unsigned short __##name##_as_ushort(Narrow x) {    \
    return static_cast<Raw>(x).x;                                    \
  }                                                                  \
  __forceinline__ Narrow __short_as_##name(short x) {                \
    return Raw{static_cast<unsigned short>(x)};                      \
  }                                                                  \
  __forceinline__ Narrow __ushort_as_##name(unsigned short x) {      \
    return Raw{x};                                                   \
  }                                                                  \
  ONEPASS_TO_INTEGER(Narrow, name, char, signed char, _rz, zero)     \
  ONEPASS_TO_INTEGER(Narrow, name, uchar, unsigned char, _rz, zero)  \
  ONEPASS_INTEGERS(ONEPASS_FROM_INTEGER, Narrow, name)               \
  ONEPASS_INTEGERS(ONEPASS_TO_INTEGER, Narrow, name)

/// Making pairs, and taking them apart.
#define ONEPASS_PAIR_CONVERSIONS(Narrow, Pair, name)             \
  __forceinline__ Pair make_##name##2(Narrow x, Narrow y) {      \
    return {x, y};                                               \
  }                                                              \
  __forceinline__ Pair __float2##name##2_rn(float x) {           \
    return {Narrow(x), Narrow(x)};                               \
  }                                                              \
  __forceinline__ Pair __floats2##name##2_rn(float x, float y) { \
    return {Narrow(x), Narrow(y)};                               \
  }                                                              \
  __forceinline__ Pair __float22##name##2_rn(float2 v) {         \
    return {Narrow(v.x), Narrow(v.y)};                           \
  }                                                              \
  __forceinline__ float2 __##name##22float2(Pair v) {            \
    return {float(v.x), float(v.y)};                             \
  }                                                              \
  __forceinline__ float __low2float(Pair v) {                    \
    return v.x;                                                  \
  }                                                              \
  __forceinline__ float __high2float(Pair v) {                   \
    return v.y;                                                  \
  }                                                              \
  __forceinline__ Narrow __low2##name(Pair v) {                  \
    return v.x;                                                  \
  }                                                              \
  __forceinline__ Narrow __high2##name(Pair v) {                 \
    return v.y;                                                  \
  }                                                              \
  __forceinline__ Pair __##name##2##name##2(Narrow x) {          \
    return {x, x};                                               \
  }                                                              \
  __forceinline__ Pair __halves2##name##2(Narrow x, Narrow y) {  \
    return {x, y};                                               \
  }                                                              \
  __forceinline__ Pair __low2##name##2(Pair v) {                 \
    return {v.x, v.x};                                           \
  }                                                              \
  __forceinline__ Pair __high2##name##2(Pair v) {                \
    return {v.y, v.y};                                           \
  }                                                              \
  __forceinline__ Pair __lows2##name##2(Pair a, Pair b) {        \
    return {a.x, b.x};                                           \
  }                                                              \
  __forceinline__ Pair __highs2##name##2(Pair a, Pair b) {       \
    return {a.y, b.y};                                           \
  }                                                              \
  __forceinline__ Pair __lowhigh2highlow(Pair v) {               \
    return {v.y, v.x};                                           \
  }

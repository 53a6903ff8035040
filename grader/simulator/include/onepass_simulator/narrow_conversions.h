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
#define ONEPASS_NARROW_CONVERSIONS(Narrow, Raw, name)                                          \
  ONEPASS_INTRINSIC(Narrow, __float2##name, (float x), Narrow(x))                              \
  ONEPASS_INTRINSIC(Narrow, __float2##name##_rn, (float x), Narrow(x))                         \
  ONEPASS_INTRINSIC(Narrow, __float2##name##_rz, (float x),                                    \
                    simulator::rounded<Narrow>(x, simulator::Rounding::zero))                  \
  ONEPASS_INTRINSIC(Narrow, __float2##name##_rd, (float x),                                    \
                    simulator::rounded<Narrow>(x, simulator::Rounding::down))                  \
  ONEPASS_INTRINSIC(Narrow, __float2##name##_ru, (float x),                                    \
                    simulator::rounded<Narrow>(x, simulator::Rounding::up))                    \
  ONEPASS_INTRINSIC(Narrow, __double2##name, (double x), Narrow(x))                            \
  ONEPASS_INTRINSIC(float, __##name##2float, (Narrow x), x)                                    \
  ONEPASS_INTRINSIC(short, __##name##_as_short, (Narrow x),                                    \
                    static_cast<short>(static_cast<Raw>(x).x))                                 \
  ONEPASS_INTRINSIC(unsigned short, __##name##_as_ushort, (Narrow x), static_cast<Raw>(x).x)   \
  ONEPASS_INTRINSIC(Narrow, __short_as_##name, (short x), Raw{static_cast<unsigned short>(x)}) \
  ONEPASS_INTRINSIC(Narrow, __ushort_as_##name, (unsigned short x), Raw{x})                    \
  ONEPASS_TO_INTEGER(Narrow, name, char, signed char, _rz, zero)                               \
  ONEPASS_TO_INTEGER(Narrow, name, uchar, unsigned char, _rz, zero)                            \
  ONEPASS_INTEGERS(ONEPASS_FROM_INTEGER, Narrow, name)                                         \
  ONEPASS_INTEGERS(ONEPASS_TO_INTEGER, Narrow, name)

/// Making pairs, and taking them apart.
#define ONEPASS_PAIR_CONVERSIONS(Narrow, Pair, name)                                             \
  ONEPASS_INTRINSIC(Pair, make_##name##2, (Narrow x, Narrow y), Pair(x, y))                      \
  ONEPASS_INTRINSIC(Pair, __float2##name##2_rn, (float x), Pair(Narrow(x), Narrow(x)))           \
  ONEPASS_INTRINSIC(Pair, __floats2##name##2_rn, (float x, float y), Pair(Narrow(x), Narrow(y))) \
  ONEPASS_INTRINSIC(Pair, __float22##name##2_rn, (float2 v), Pair(Narrow(v.x), Narrow(v.y)))     \
  ONEPASS_INTRINSIC(float2, __##name##22float2, (Pair v), float2{float(v.x), float(v.y)})        \
  ONEPASS_INTRINSIC(float, __low2float, (Pair v), v.x)                                           \
  ONEPASS_INTRINSIC(float, __high2float, (Pair v), v.y)                                          \
  ONEPASS_INTRINSIC(Narrow, __low2##name, (Pair v), v.x)                                         \
  ONEPASS_INTRINSIC(Narrow, __high2##name, (Pair v), v.y)                                        \
  ONEPASS_INTRINSIC(Pair, __##name##2##name##2, (Narrow x), Pair(x, x))                          \
  ONEPASS_INTRINSIC(Pair, __halves2##name##2, (Narrow x, Narrow y), Pair(x, y))                  \
  ONEPASS_INTRINSIC(Pair, __low2##name##2, (Pair v), Pair(v.x, v.x))                             \
  ONEPASS_INTRINSIC(Pair, __high2##name##2, (Pair v), Pair(v.y, v.y))                            \
  ONEPASS_INTRINSIC(Pair, __lows2##name##2, (Pair a, Pair b), Pair(a.x, b.x))                    \
  ONEPASS_INTRINSIC(Pair, __highs2##name##2, (Pair a, Pair b), Pair(a.y, b.y))                   \
  ONEPASS_INTRINSIC(Pair, __lowhigh2highlow, (Pair v), Pair(v.y, v.x))

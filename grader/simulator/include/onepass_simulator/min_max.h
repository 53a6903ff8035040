// min() and max() for every pair of types that CUDA has them for. As in C++'s own arithmetic, the
// unsigned type wins over the signed one and the longer over the shorter.
#pragma once

#include <math.h>

#include "qualifiers.h"

#define ONEPASS_MIN_MAX(A, B, Result)                                                         \
  ONEPASS_INTRINSIC(Result, min, (A a, B b),                                                  \
                    static_cast<Result>(a) < static_cast<Result>(b) ? static_cast<Result>(a)  \
                                                                    : static_cast<Result>(b)) \
  ONEPASS_INTRINSIC(Result, max, (A a, B b),                                                  \
                    static_cast<Result>(a) > static_cast<Result>(b) ? static_cast<Result>(a)  \
                                                                    : static_cast<Result>(b))
#define ONEPASS_MIN_MAX_INTEGERS(Signed, Unsigned) \
  ONEPASS_MIN_MAX(Signed, Signed, Signed)          \
  ONEPASS_MIN_MAX(Unsigned, Unsigned, Unsigned)    \
  ONEPASS_MIN_MAX(Signed, Unsigned, Unsigned)      \
  ONEPASS_MIN_MAX(Unsigned, Signed, Unsigned)
ONEPASS_MIN_MAX_INTEGERS(int, unsigned)
ONEPASS_MIN_MAX_INTEGERS(long, unsigned long)
ONEPASS_MIN_MAX_INTEGERS(long long, unsigned long long)
#undef ONEPASS_MIN_MAX_INTEGERS
#undef ONEPASS_MIN_MAX

// With a NaN, the other number.
#define ONEPASS_MIN_MAX_FLOATS(A, B, Result, suffix)                       \
  ONEPASS_INTRINSIC(Result, min, (A a, B b), __builtin_fmin##suffix(a, b)) \
  ONEPASS_INTRINSIC(Result, max, (A a, B b), __builtin_fmax##suffix(a, b))
ONEPASS_MIN_MAX_FLOATS(float, float, float, f)
ONEPASS_MIN_MAX_FLOATS(double, double, double, )
ONEPASS_MIN_MAX_FLOATS(float, double, double, )
ONEPASS_MIN_MAX_FLOATS(double, float, double, )
#undef ONEPASS_MIN_MAX_FLOATS

#define ONEPASS_MIN_MAX_NAMES(prefix, T)                       \
  ONEPASS_INTRINSIC(T, prefix##min, (T a, T b), a < b ? a : b) \
  ONEPASS_INTRINSIC(T, prefix##max, (T a, T b), a > b ? a : b)
ONEPASS_MIN_MAX_NAMES(u, unsigned)
ONEPASS_MIN_MAX_NAMES(ll, long long)
ONEPASS_MIN_MAX_NAMES(ull, unsigned long long)
#undef ONEPASS_MIN_MAX_NAMES

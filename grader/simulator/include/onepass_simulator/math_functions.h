// Mathematical functions that CUDA has beside those of <math.h>.
#pragma once

#include <math.h>
#include <stdlib.h>

#include "qualifiers.h"

// Each computed in double and rounded once.
ONEPASS_INTRINSIC(double, rsqrt, (double x), 1.0 / __builtin_sqrt(x))
ONEPASS_INTRINSIC(float, rsqrtf, (float x),
                  static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))))
ONEPASS_INTRINSIC(float, rsqrt, (float x), rsqrtf(x))
ONEPASS_INTRINSIC(double, rcbrt, (double x), 1.0 / __builtin_cbrt(x))
ONEPASS_INTRINSIC(float, rcbrtf, (float x),
                  static_cast<float>(1.0 / __builtin_cbrt(static_cast<double>(x))))
ONEPASS_INTRINSIC(float, fdividef, (float x, float y), x / y)

// Of x times pi. The remainder comes first, so that large x keep their precision.
inline double sinpi(double x) {
  const double turn = __builtin_fmod(x, 2.0);
  return turn == __builtin_trunc(turn) ? __builtin_copysign(0.0, x)
                                       : __builtin_sin(turn * 3.14159265358979323846);
}
inline double cospi(double x) {
  const double turn = __builtin_fabs(__builtin_fmod(x, 2.0));
  return turn == 0.5 || turn == 1.5 ? 0.0 : __builtin_cos(turn * 3.14159265358979323846);
}
__forceinline__ void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
ONEPASS_INTRINSIC(float, sinpif, (float x), static_cast<float>(sinpi(x)))
ONEPASS_INTRINSIC(float, cospif, (float x), static_cast<float>(cospi(x)))
__forceinline__ void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

ONEPASS_INTRINSIC(double, normcdf, (double x), 0.5 * __builtin_erfc(-x * 0.70710678118654752440))
ONEPASS_INTRINSIC(float, normcdff, (float x), static_cast<float>(normcdf(x)))
__forceinline__ float rhypotf(float x, float y) {
  return static_cast<float>(1.0 / __builtin_hypot(static_cast<double>(x), static_cast<double>(y)));
}
__forceinline__ float norm3df(float x, float y, float z) {
  const double a = x, b = y, c = z;
  return static_cast<float>(__builtin_sqrt(a * a + b * b + c * c));
}
__forceinline__ float norm4df(float x, float y, float z, float w) {
  const double a = x, b = y, c = z, d = w;
  return static_cast<float>(__builtin_sqrt(a * a + b * b + c * c + d * d));
}

// Mathematical functions that CUDA has beside those of <math.h>.
#pragma once

#include <math.h>
#include <stdlib.h>

#include "qualifiers.h"

// Each computed in double and rounded once.
__forceinline__ double rsqrt(double x) {
  return 1.0 / __builtin_sqrt(x);
}
__forceinline__ float rsqrtf(float x) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
}
__forceinline__ float rsqrt(float x) {
  return rsqrtf(x);
}
__forceinline__ double rcbrt(double x) {
  return 1.0 / __builtin_cbrt(x);
}
__forceinline__ float rcbrtf(float x) {
  return static_cast<float>(1.0 / __builtin_cbrt(static_cast<double>(x)));
}
__forceinline__ float fdividef(float x, float y) {
  return x / y;
}

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
__forceinline__ float sinpif(float x) {
  return static_cast<float>(sinpi(x));
}
__forceinline__ float cospif(float x) {
  return static_cast<float>(cospi(x));
}
__forceinline__ void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

__forceinline__ double normcdf(double x) {
  return 0.5 * __builtin_erfc(-x * 0.70710678118654752440);
}
__forceinline__ float normcdff(float x) {
  return static_cast<float>(normcdf(x));
}
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

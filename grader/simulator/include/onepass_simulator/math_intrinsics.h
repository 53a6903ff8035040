// Mathematical intrinsics: the fast names (__expf), which are as exact as the others here, and
// arithmetic with a stated rounding (__fmaf_rn, __fadd_rz).
#pragma once

#include "math_functions.h"
#include "rounding.h"

// The C library declares some of these names for its own use, hence its linkage and noexcept.
extern "C" {
__forceinline__ float __sinf(float x) noexcept {
  return __builtin_sinf(x);
}
__forceinline__ float __cosf(float x) noexcept {
  return __builtin_cosf(x);
}
__forceinline__ float __tanf(float x) noexcept {
  return __builtin_tanf(x);
}
__forceinline__ float __tanhf(float x) noexcept {
  return __builtin_tanhf(x);
}
__forceinline__ float __expf(float x) noexcept {
  return __builtin_expf(x);
}
__forceinline__ float __exp10f(float x) noexcept {
  return __builtin_powf(10.0f, x);
}
__forceinline__ float __logf(float x) noexcept {
  return __builtin_logf(x);
}
__forceinline__ float __log2f(float x) noexcept {
  return __builtin_log2f(x);
}
__forceinline__ float __log10f(float x) noexcept {
  return __builtin_log10f(x);
}
__forceinline__ float __powf(float x, float y) noexcept {
  return __builtin_powf(x, y);
}
__forceinline__ void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = __builtin_sinf(x);
  *cosine = __builtin_cosf(x);
}
}
__forceinline__ float __fdividef(float x, float y) {
  return x / y;
}
/// x between 0 and 1; NaN gives 0.
__forceinline__ float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
__forceinline__ float __frsqrt_rn(float x) {
  return rsqrtf(x);
}

// ---- Arithmetic rounded in a stated direction: _rn to the nearest, _rz to zero, _rd down, _ru up.
#define ONEPASS_ROUNDED(suffix, rounding)                                                    \
  __forceinline__ float __fadd_##suffix(float x, float y) {                                  \
    return simulator::to_float(simulator::add_to_odd(x, y), simulator::Rounding::rounding);  \
  }                                                                                          \
  __forceinline__ float __fsub_##suffix(float x, float y) {                                  \
    return simulator::to_float(simulator::add_to_odd(x, -y), simulator::Rounding::rounding); \
  }                                                                                          \
  __forceinline__ float __fmul_##suffix(float x, float y) {                                  \
    return simulator::to_float(static_cast<double>(x) * y, simulator::Rounding::rounding);   \
  }                                                                                          \
  __forceinline__ float __fmaf_##suffix(float x, float y, float z) {                         \
    return simulator::to_float(simulator::add_to_odd(static_cast<double>(x) * y, z),         \
                               simulator::Rounding::rounding);                               \
  }                                                                                          \
  __forceinline__ float __fdiv_##suffix(float x, float y) {                                  \
    return simulator::to_float(static_cast<double>(x) / y, simulator::Rounding::rounding);   \
  }                                                                                          \
  __forceinline__ float __frcp_##suffix(float x) {                                           \
    return simulator::to_float(1.0 / x, simulator::Rounding::rounding);                      \
  }                                                                                          \
  __forceinline__ float __fsqrt_##suffix(float x) {                                          \
    return simulator::to_float(__builtin_sqrt(static_cast<double>(x)),                       \
                               simulator::Rounding::rounding);                               \
  }                                                                                          \
  __forceinline__ float __double2float_##suffix(double x) {                                  \
    return simulator::to_float(x, simulator::Rounding::rounding);                            \
  }                                                                                          \
  __forceinline__ float __int2float_##suffix(int x) {                                        \
    return simulator::to_float(x, simulator::Rounding::rounding);                            \
  }                                                                                          \
  __forceinline__ float __uint2float_##suffix(unsigned x) {                                  \
    return simulator::to_float(x, simulator::Rounding::rounding);                            \
  }                                                                                          \
  __forceinline__ float __ll2float_##suffix(long long x) {                                   \
    return simulator::to_float(simulator::to_odd_double(x), simulator::Rounding::rounding);  \
  }                                                                                          \
  __forceinline__ float __ull2float_##suffix(unsigned long long x) {                         \
    return simulator::to_float(simulator::to_odd_double(x), simulator::Rounding::rounding);  \
  }                                                                                          \
  ONEPASS_ROUNDED_TO_INTEGER(int, int, suffix, rounding)                                     \
  ONEPASS_ROUNDED_TO_INTEGER(uint, unsigned, suffix, rounding)                               \
  ONEPASS_ROUNDED_TO_INTEGER(ll, long long, suffix, rounding)                                \
  ONEPASS_ROUNDED_TO_INTEGER(ull, unsigned long long, suffix, rounding)
#define ONEPASS_ROUNDED_TO_INTEGER(name, T, suffix, rounding)          \
  __forceinline__ T __float2##name##_##suffix(float x) {               \
    return simulator::to_integer<T>(x, simulator::Rounding::rounding); \
  }                                                                    \
  __forceinline__ T __double2##name##_##suffix(double x) {             \
    return simulator::to_integer<T>(x, simulator::Rounding::rounding); \
  }
ONEPASS_ROUNDED(rn, nearest)
ONEPASS_ROUNDED(rz, zero)
ONEPASS_ROUNDED(rd, down)
ONEPASS_ROUNDED(ru, up)
#undef ONEPASS_ROUNDED
#undef ONEPASS_ROUNDED_TO_INTEGER

// In double only to the nearest, which is what the host does.
__forceinline__ double __dadd_rn(double x, double y) {
  return x + y;
}
__forceinline__ double __dsub_rn(double x, double y) {
  return x - y;
}
__forceinline__ double __dmul_rn(double x, double y) {
  return x * y;
}
__forceinline__ double __ddiv_rn(double x, double y) {
  return x / y;
}
__forceinline__ double __drcp_rn(double x) {
  return 1.0 / x;
}
__forceinline__ double __dsqrt_rn(double x) {
  return __builtin_sqrt(x);
}
__forceinline__ double __fma_rn(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
__forceinline__ double __int2double_rn(int x) {
  return x;
}
__forceinline__ double __uint2double_rn(unsigned x) {
  return x;
}
__forceinline__ double __ll2double_rn(long long x) {
  return static_cast<double>(x);
}
__forceinline__ double __ull2double_rn(unsigned long long x) {
  return static_cast<double>(x);
}

// Mathematical intrinsics: the fast names (__expf), which are as exact as the others here, and
// arithmetic with a stated rounding (__fmaf_rn, __fadd_rz).
#pragma once

#include "math_functions.h"
#include "rounding.h"

// The C library declares some of these names for its own use, hence its linkage and noexcept.
extern "C" {
ONEPASS_INTRINSIC(float, __sinf, (float x) noexcept, __builtin_sinf(x))
ONEPASS_INTRINSIC(float, __cosf, (float x) noexcept, __builtin_cosf(x))
ONEPASS_INTRINSIC(float, __tanf, (float x) noexcept, __builtin_tanf(x))
ONEPASS_INTRINSIC(float, __tanhf, (float x) noexcept, __builtin_tanhf(x))
ONEPASS_INTRINSIC(float, __expf, (float x) noexcept, __builtin_expf(x))
ONEPASS_INTRINSIC(float, __exp10f, (float x) noexcept, __builtin_powf(10.0f, x))
ONEPASS_INTRINSIC(float, __logf, (float x) noexcept, __builtin_logf(x))
ONEPASS_INTRINSIC(float, __log2f, (float x) noexcept, __builtin_log2f(x))
ONEPASS_INTRINSIC(float, __log10f, (float x) noexcept, __builtin_log10f(x))
ONEPASS_INTRINSIC(float, __powf, (float x, float y) noexcept, __builtin_powf(x, y))
__forceinline__ void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = __builtin_sinf(x);
  *cosine = __builtin_cosf(x);
}
}
ONEPASS_INTRINSIC(float, __fdividef, (float x, float y), x / y)
/// x between 0 and 1; NaN gives 0.
ONEPASS_INTRINSIC(float, __saturatef, (float x), x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f)
ONEPASS_INTRINSIC(float, __frsqrt_rn, (float x), rsqrtf(x))

// ---- Arithmetic rounded in a stated direction: _rn to the nearest, _rz to zero, _rd down, _ru up.
#define ONEPASS_ROUNDED_TO_FLOAT(rounding, name, parameters, exact) \
  ONEPASS_INTRINSIC(float, name, parameters,                        \
                    simulator::to_float(exact, simulator::Rounding::rounding))
#define ONEPASS_ROUNDED_TO_INTEGER(rounding, T, name, parameters) \
  ONEPASS_INTRINSIC(T, name, parameters, simulator::to_integer<T>(x, simulator::Rounding::rounding))
#define ONEPASS_ROUNDED(suffix, rounding)                                          \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __fadd_##suffix, (float x, float y),          \
                           simulator::add_to_odd(x, y))                            \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __fsub_##suffix, (float x, float y),          \
                           simulator::add_to_odd(x, -y))                           \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __fmul_##suffix, (float x, float y),          \
                           static_cast<double>(x) * y)                             \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __fmaf_##suffix, (float x, float y, float z), \
                           simulator::add_to_odd(static_cast<double>(x) * y, z))   \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __fdiv_##suffix, (float x, float y),          \
                           static_cast<double>(x) / y)                             \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __frcp_##suffix, (float x), 1.0 / x)          \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __fsqrt_##suffix, (float x),                  \
                           __builtin_sqrt(static_cast<double>(x)))                 \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __double2float_##suffix, (double x), x)       \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __int2float_##suffix, (int x), x)             \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __uint2float_##suffix, (unsigned x), x)       \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __ll2float_##suffix, (long long x),           \
                           simulator::to_odd_double(x))                            \
  ONEPASS_ROUNDED_TO_FLOAT(rounding, __ull2float_##suffix, (unsigned long long x), \
                           simulator::to_odd_double(x))                            \
  ONEPASS_ROUNDED_TO_INTEGERS(rounding, suffix, float)                             \
  ONEPASS_ROUNDED_TO_INTEGERS(rounding, suffix, double)
#define ONEPASS_ROUNDED_TO_INTEGERS(rounding, suffix, T)                       \
  ONEPASS_ROUNDED_TO_INTEGER(rounding, int, __##T##2int_##suffix, (T x))       \
  ONEPASS_ROUNDED_TO_INTEGER(rounding, unsigned, __##T##2uint_##suffix, (T x)) \
  ONEPASS_ROUNDED_TO_INTEGER(rounding, long long, __##T##2ll_##suffix, (T x))  \
  ONEPASS_ROUNDED_TO_INTEGER(rounding, unsigned long long, __##T##2ull_##suffix, (T x))
ONEPASS_ROUNDED(rn, nearest)
ONEPASS_ROUNDED(rz, zero)
ONEPASS_ROUNDED(rd, down)
ONEPASS_ROUNDED(ru, up)
#undef ONEPASS_ROUNDED
#undef ONEPASS_ROUNDED_TO_INTEGERS
#undef ONEPASS_ROUNDED_TO_INTEGER
#undef ONEPASS_ROUNDED_TO_FLOAT

// In double only to the nearest, which is what the host does.
ONEPASS_INTRINSIC(double, __dadd_rn, (double x, double y), x + y)
ONEPASS_INTRINSIC(double, __dsub_rn, (double x, double y), x - y)
ONEPASS_INTRINSIC(double, __dmul_rn, (double x, double y), x* y)
ONEPASS_INTRINSIC(double, __ddiv_rn, (double x, double y), x / y)
ONEPASS_INTRINSIC(double, __drcp_rn, (double x), 1.0 / x)
ONEPASS_INTRINSIC(double, __dsqrt_rn, (double x), __builtin_sqrt(x))
ONEPASS_INTRINSIC(double, __fma_rn, (double x, double y, double z), __builtin_fma(x, y, z))
ONEPASS_INTRINSIC(double, __int2double_rn, (int x), x)
ONEPASS_INTRINSIC(double, __uint2double_rn, (unsigned x), x)
ONEPASS_INTRINSIC(double, __ll2double_rn, (long long x), static_cast<double>(x))
ONEPASS_INTRINSIC(double, __ull2double_rn, (unsigned long long x), static_cast<double>(x))

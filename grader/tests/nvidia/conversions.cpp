// Compiled against the CUDA toolkit's cuda_fp16.h, cuda_bf16.h and cuda_fp8.h, where there is a
// toolkit.
#include "conversions.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace nvidia {

std::uint16_t half_of(float x, Round round) {
  switch (round) {
    case Round::nearest:
      return __half_as_ushort(__float2half_rn(x));
    case Round::zero:
      return __half_as_ushort(__float2half_rz(x));
    case Round::down:
      return __half_as_ushort(__float2half_rd(x));
    default:
      return __half_as_ushort(__float2half_ru(x));
  }
}
std::uint16_t half_of(double x) {
  return __half_as_ushort(__double2half(x));
}
float value_of_half(std::uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}

std::uint16_t bfloat16_of(float x, Round round) {
  switch (round) {
    case Round::nearest:
      return __bfloat16_as_ushort(__float2bfloat16_rn(x));
    case Round::zero:
      return __bfloat16_as_ushort(__float2bfloat16_rz(x));
    case Round::down:
      return __bfloat16_as_ushort(__float2bfloat16_rd(x));
    default:
      return __bfloat16_as_ushort(__float2bfloat16_ru(x));
  }
}
std::uint16_t bfloat16_of(double x) {
  return __bfloat16_as_ushort(__double2bfloat16(x));
}
float value_of_bfloat16(std::uint16_t bits) {
  return __bfloat162float(__ushort_as_bfloat16(bits));
}

namespace {

__nv_saturation_t saturation(bool finite) {
  return finite ? __NV_SATFINITE : __NV_NOSAT;
}
__nv_fp8_interpretation_t kind(bool is_e5m2) {
  return is_e5m2 ? __NV_E5M2 : __NV_E4M3;
}

}  // namespace

std::uint8_t fp8_of(float x, bool finite, bool is_e5m2) {
  return __nv_cvt_float_to_fp8(x, saturation(finite), kind(is_e5m2));
}
std::uint8_t fp8_of(double x, bool finite, bool is_e5m2) {
  return __nv_cvt_double_to_fp8(x, saturation(finite), kind(is_e5m2));
}
std::uint8_t fp8_of_half(std::uint16_t x, bool finite, bool is_e5m2) {
  return __nv_cvt_halfraw_to_fp8(__half_raw{x}, saturation(finite), kind(is_e5m2));
}
std::uint8_t fp8_of_bfloat16(std::uint16_t x, bool finite, bool is_e5m2) {
  return __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{x}, saturation(finite), kind(is_e5m2));
}
std::uint16_t half_of_fp8(std::uint8_t x, bool is_e5m2) {
  return __nv_cvt_fp8_to_halfraw(x, kind(is_e5m2)).x;
}
int integer_of_e4m3(std::uint8_t x) {
  __nv_fp8_e4m3 value;
  value.__x = x;
  return static_cast<int>(value);
}
signed char byte_of_e5m2(std::uint8_t x) {
  __nv_fp8_e5m2 value;
  value.__x = x;
  return static_cast<signed char>(value);
}

}  // namespace nvidia

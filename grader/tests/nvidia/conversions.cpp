// Compiled against the CUDA toolkit's cuda_fp16.h and cuda_bf16.h, where there is a toolkit.
#include "conversions.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

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

}  // namespace nvidia

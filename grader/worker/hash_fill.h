// Numbers that every side can make for itself: the same on the CPU, on the GPU and in the deciding
// process, bit for bit, so that gigabytes of test data need not travel. Counter based: an element's
// value depends on the seed and its place alone.
//
// Compiled by nvcc and by the host compiler, C++17.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ONEPASS_HOST_DEVICE __host__ __device__
#else
#define ONEPASS_HOST_DEVICE
#endif

namespace onepass::worker {

/// The finaliser of Steele, Lea and Flood's SplitMix64.
ONEPASS_HOST_DEVICE inline uint64_t splitmix64(uint64_t state) {
  uint64_t z = state + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The seed of a buffer that is filled anew for each timed call.
ONEPASS_HOST_DEVICE inline uint64_t fill_seed(uint64_t seed, uint64_t generation) {
  return splitmix64(seed + generation);
}

/// The fp32 value of element `index` = row * cols + col: uniform in [mean - scale, mean + scale).
/// One rounding: 24 bits of the hash, centred, make an exact fraction, and the rest is one fused
/// multiply-add. Seeds that differ in low bits only give the same values in another order, so
/// derive seeds with splitmix64().
ONEPASS_HOST_DEVICE inline float hash_value(uint64_t seed, uint64_t index, float mean,
                                            float scale) {
  const int32_t top = static_cast<int32_t>(splitmix64(seed ^ index) >> 40) - (1 << 23);
  const float fraction = static_cast<float>(top) * (1.0f / (1 << 23));
  return fmaf(scale, fraction, mean);
}

ONEPASS_HOST_DEVICE inline uint32_t fp32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// `value` rounded to bfloat16, to nearest, ties to even. NaN becomes 0x7FFF.
ONEPASS_HOST_DEVICE inline uint16_t bf16_bits(float value) {
  const uint32_t bits = fp32_bits(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    return 0x7FFF;
  }
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// `value` rounded to fp16, to nearest, ties to even. NaN becomes 0x7FFF.
ONEPASS_HOST_DEVICE inline uint16_t fp16_bits(float value) {
  const uint32_t bits = fp32_bits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return 0x7FFF;
  }
  if (magnitude >= 0x477FF000u) {  // 65,520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7C00u);
  }
  if (magnitude < 0x33000001u) {  // 2^-25 and below round to zero
    return static_cast<uint16_t>(sign);
  }
  // A normal result drops 13 of the 23 mantissa bits; a subnormal one drops more, and shows the
  // leading one that fp32 leaves implicit. The carry of the rounding runs into the exponent.
  const uint32_t exponent = magnitude >> 23;
  const bool subnormal = exponent < 113;
  const uint32_t dropped = subnormal ? 126 - exponent : 13;
  const uint32_t kept =
      subnormal ? (magnitude & 0x7FFFFFu) | 0x800000u : magnitude - (uint32_t{112} << 23);
  const uint32_t half = (uint32_t{1} << (dropped - 1)) - 1 + ((kept >> dropped) & 1u);
  return static_cast<uint16_t>(sign | ((kept + half) >> dropped));
}

}  // namespace onepass::worker

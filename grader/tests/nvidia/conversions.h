// NVIDIA's own host conversions, behind plain functions: their types have the same names as ours.
#pragma once

#include <cstdint>

namespace nvidia {

enum class Round { nearest, zero, down, up };

[[gnu::visibility("default")]] std::uint16_t half_of(float x, Round round);
[[gnu::visibility("default")]] std::uint16_t half_of(double x);
[[gnu::visibility("default")]] float value_of_half(std::uint16_t bits);
[[gnu::visibility("default")]] std::uint16_t bfloat16_of(float x, Round round);
[[gnu::visibility("default")]] std::uint16_t bfloat16_of(double x);
[[gnu::visibility("default")]] float value_of_bfloat16(std::uint16_t bits);

/// 8 bits: e4m3 or e5m2.
[[gnu::visibility("default")]] std::uint8_t fp8_of(float x, bool finite, bool is_e5m2);
[[gnu::visibility("default")]] std::uint8_t fp8_of(double x, bool finite, bool is_e5m2);
[[gnu::visibility("default")]] std::uint8_t fp8_of_half(std::uint16_t x, bool finite, bool is_e5m2);
[[gnu::visibility("default")]] std::uint8_t fp8_of_bfloat16(std::uint16_t x, bool finite,
                                                            bool is_e5m2);
[[gnu::visibility("default")]] std::uint16_t half_of_fp8(std::uint8_t x, bool is_e5m2);
/// As the type's own conversion has it.
[[gnu::visibility("default")]] int integer_of_e4m3(std::uint8_t x);
[[gnu::visibility("default")]] signed char byte_of_e5m2(std::uint8_t x);

}  // namespace nvidia

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

}  // namespace nvidia

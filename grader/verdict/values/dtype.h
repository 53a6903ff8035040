// The types of the numbers in device memory, and exact passage between their bits and fp64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/messages.h"

namespace onepass::verdict {

using wire::Dtype;
using wire::size_of;

/// "fp32", "fp16", "bf16", "int32", "int64": the names used in files, messages and the protocol.
std::string name(Dtype dtype);

/// The dtype of that name; throws std::invalid_argument for any other name.
Dtype dtype_named(const std::string& name);

constexpr bool is_integer(Dtype dtype) {
  return dtype == Dtype::int32 || dtype == Dtype::int64;
}

/// The value of the element at `bits` (size_of(dtype) bytes, any alignment). Exact, except for
/// int64 beyond 2^53.
double decode(Dtype dtype, const std::byte* bits);

/// Writes `value` as an element to `bits`, rounded once to nearest, ties to even; what exceeds the
/// type becomes infinity, or for integers the nearest end of the range.
void encode(Dtype dtype, double value, std::byte* bits);

/// `value` rounded as by encode(). From fp64 straight to the type: going through fp32 on the way to
/// 16 bits would round twice and now and then give the wrong neighbour.
double round_to(Dtype dtype, double value);

/// Other ways to round than that: to the next number of the type in a direction, or to the nearest
/// with what lies in the middle away from zero or toward it. The last two only concern what does.
enum class Rounding { toward_zero, away_from_zero, up, down, halves_away, halves_toward_zero };
double round_to(Dtype dtype, double value, Rounding way);

/// The distance between the two neighbouring numbers of a floating-point type that enclose |value|;
/// for integers 1. Below the smallest normal number it is the smallest subnormal number.
double ulp(Dtype dtype, double value);

}  // namespace onepass::verdict

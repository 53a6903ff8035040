// Wrong ways to read the inputs, which several exercises of chapter 1 share. Each gives x as a
// kernel with the mistake sees it, or nothing where the mistake makes no difference.
#pragma once

#include <optional>

#include "verdict/case.h"
#include "verdict/values/field.h"

namespace onepass::rmsnorm {

/// Row r is taken from `stride` * r on instead of x_stride * r.
std::optional<verdict::Field> x_with_stride(const verdict::Case& call, std::int64_t stride);

/// x[c][r] for x[r][c]; for square x only, others leave the buffer.
std::optional<verdict::Field> x_transposed(const verdict::Case& call);

/// What the bytes between two rows of a buffer mean as a number.
double padding_value(verdict::Dtype dtype);

}  // namespace onepass::rmsnorm

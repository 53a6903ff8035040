// Tensors as a kernel sees them that reads or sums them wrongly.
#pragma once

#include <optional>

#include "verdict/case.h"
#include "verdict/values/field.h"

namespace onepass::common {

/// The buffer with row r taken from `stride` * r on; nothing where that makes no difference or
/// leaves the buffer.
std::optional<verdict::Field> with_stride(const verdict::Case& call, const char* buffer,
                                          std::int64_t stride);

/// field[c][r] for field[r][c]; for square ones only, others leave the buffer.
std::optional<verdict::Field> transposed(const verdict::Field& field);

/// What memory of that type holds before some of the calls: what is added to it is off by that.
double poison(verdict::Dtype dtype);

}  // namespace onepass::common
